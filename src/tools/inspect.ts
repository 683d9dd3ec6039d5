import { z } from "zod";
import type { SymbolCard } from "../symbols/graph.ts";
import {
  graphMeta,
  mentionsShape,
  renderMentions,
  renderNotes,
  renderSymbol,
  renderUnknown,
  symbolShape,
  toGraphMeta,
  toMentions,
  toSymbol,
} from "./rag-shape.ts";
import { defineTool } from "./tool.ts";

const card = z.object({
  symbol: symbolShape,
  signature: z.string(),
  doc: z.string(),
  parents: z.array(symbolShape),
  children: z.array(symbolShape),
  members: z.array(symbolShape),
  callers: z.array(symbolShape),
  callees: z.array(symbolShape),
  tests: z.array(z.string()),
  uses: z.int(),
  mentions: mentionsShape,
});

const file = z.object({
  path: z.string(),
  language: z.string(),
  definitions: z.array(symbolShape),
  imports: z.array(z.string()),
  imported_by: z.array(z.string()),
  packages: z.array(z.string()),
  tests: z.array(z.string()),
});

const RELATIONS = ["parents", "children", "members", "callers", "callees"] as const;

/** Of each list; the rest is counted. */
const MAX_SHOWN = 20;
const MAX_DOC_CHARS = 600;

const toCard = (one: SymbolCard): z.infer<typeof card> => ({
  symbol: toSymbol(one.definition),
  signature: one.signature,
  doc: one.doc,
  parents: one.parents.map(toSymbol),
  children: one.children.map(toSymbol),
  members: one.members.map(toSymbol),
  callers: one.callers.map(toSymbol),
  callees: one.callees.map(toSymbol),
  tests: one.tests.map(({ path, line }) => `${path}:${line}`),
  uses: one.useCount,
  mentions: toMentions(one.mentions),
});

const shownList = (label: string, items: readonly string[]): string[] => {
  if (items.length === 0) return [];
  const more = items.length > MAX_SHOWN ? `, and ${items.length - MAX_SHOWN} more` : "";
  return [`${label}: ${items.slice(0, MAX_SHOWN).join(", ")}${more}`];
};

const lastName = (qualified: string): string => qualified.slice(qualified.lastIndexOf(".") + 1);

const renderCard = (one: z.infer<typeof card>): string[] => [
  `${one.symbol.kind} ${one.symbol.name} ${one.symbol.src}`,
  ...(one.signature === "" ? [] : [one.signature]),
  ...(one.doc === "" ? [] : [one.doc.slice(0, MAX_DOC_CHARS)]),
  ...RELATIONS.flatMap((relation) =>
    shownList(
      relation,
      one[relation].map((symbol) =>
        relation === "members" ? `${lastName(symbol.name)}:${symbol.line}` : renderSymbol(symbol),
      ),
    ),
  ),
  ...shownList("tests", one.tests),
  `uses: ${one.uses}`,
  ...renderMentions(one.uses, one.mentions),
];

const renderFile = (one: z.infer<typeof file>): string[] => [
  `${one.path} (${one.language})`,
  ...one.definitions.map(({ name, kind, line }) => `${line} ${kind} ${name}`),
  ...shownList("imports", one.imports),
  ...shownList("imported by", one.imported_by),
  ...shownList("packages", one.packages),
  ...shownList("tests", one.tests),
];

export const inspect = defineTool({
  name: "inspect",
  description: "Definition, doc and neighbours of a symbol or file.",
  effect: "read",
  backend: "the index",
  input: z.strictObject({
    target: z.string().min(1).max(1024).describe("Name, Class.method, path or path:line"),
  }),
  output: z.object({
    data: z.object({
      symbols: z.array(card),
      others: z.array(symbolShape),
      file: file.nullable(),
      /** Of a name that nothing defines. */
      mentions: mentionsShape,
    }),
    meta: z.object(graphMeta),
  }),
  run: async ({ target }, { retrieval }, { signal }) => {
    const answer = await retrieval.inspect(target, {}, signal);
    const { symbols, candidates, file: found, mentions } = answer.value;
    const shown = new Set(symbols.map(({ definition }) => `${definition.path}:${definition.line}`));
    return {
      data: {
        symbols: symbols.map(toCard),
        others: candidates.filter(({ path, line }) => !shown.has(`${path}:${line}`)).map(toSymbol),
        file:
          found === undefined
            ? null
            : {
                path: found.path,
                language: found.language,
                definitions: found.definitions.map(toSymbol),
                imports: [...found.imports],
                imported_by: [...found.importedBy],
                packages: [...found.packages],
                tests: [...found.tests],
              },
        mentions: toMentions(mentions),
      },
      meta: toGraphMeta(answer),
    };
  },
  render: ({ data: { symbols, others, file: found, mentions }, meta }) => {
    const parts = [
      ...symbols.flatMap(renderCard),
      ...shownList("also", others.map(renderSymbol)),
      ...(found === null ? [] : renderFile(found)),
    ];
    return [
      ...(parts.length === 0 ? [renderUnknown(meta, mentions)] : parts),
      ...renderNotes(meta.notes),
    ].join("\n");
  },
});
