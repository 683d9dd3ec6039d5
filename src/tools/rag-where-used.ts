import { z } from "zod";
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

const use = z.object({
  path: z.string(),
  line: z.int(),
  kind: z.string(),
  inside: z.string(),
  confidence: z.number(),
});

/** The path once, then its lines: `12 in Store.open`, with the kind where it is not a call. */
const renderUses = (uses: readonly z.infer<typeof use>[]): string[] => {
  const lines: string[] = [];
  let path: string | undefined;
  for (const { path: file, line, kind, inside } of uses) {
    if (file !== path) lines.push(file);
    path = file;
    lines.push(`${line}${kind === "call" ? "" : ` ${kind}`}${inside === "" ? "" : ` in ${inside}`}`);
  }
  return lines;
};

export const ragWhereUsed = defineTool({
  name: "rag_where_used",
  description: "Where a symbol is used: Name, Class.method or path:line.",
  effect: "read",
  backend: "the index",
  input: z.strictObject({
    symbol: z.string().min(1).max(1024),
    limit: z.int().min(1).max(1000).default(100),
  }),
  output: z.object({
    data: z.object({ definitions: z.array(symbolShape), uses: z.array(use), mentions: mentionsShape }),
    meta: z.object({ ...graphMeta, total: z.int() }),
  }),
  run: async ({ symbol, limit }, { retrieval }, { signal }) => {
    const answer = await retrieval.whereUsed(symbol, { limit }, signal);
    const { definitions, uses, total, mentions } = answer.value;
    return {
      data: {
        definitions: definitions.map(toSymbol),
        uses: uses.map(({ path, line, kind, inside, confidence }) => ({
          path,
          line,
          kind,
          inside,
          confidence,
        })),
        mentions: toMentions(mentions),
      },
      meta: { ...toGraphMeta(answer), total },
    };
  },
  render: ({ data: { definitions, uses, mentions }, meta }) => {
    if (definitions.length === 0)
      return [renderUnknown(meta, mentions), ...renderNotes(meta.notes)].join("\n");
    return [
      `defined: ${definitions.map(renderSymbol).join(", ")}`,
      ...(uses.length === 0 && mentions.unresolved === 0 ? ["[no uses]"] : renderUses(uses)),
      ...(meta.total > uses.length ? [`[${uses.length} of ${meta.total} uses; raise limit]`] : []),
      ...renderMentions(meta.total, mentions),
      ...renderNotes(meta.notes),
    ].join("\n");
  },
});
