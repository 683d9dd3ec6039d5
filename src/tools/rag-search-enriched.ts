import { z } from "zod";
import { showControls } from "../base/text.ts";
import {
  findInput,
  indexMeta,
  renderAnswer,
  renderSnippet,
  renderSymbol,
  reportProgress,
  snippetShape,
  symbolShape,
  toFindRequest,
  toIndexMeta,
  toSnippet,
  toSymbol,
} from "./rag-shape.ts";
import { defineTool } from "./tool.ts";

const enrichedSnippet = z.object({
  ...snippetShape,
  symbol: symbolShape.nullable(),
  parents: z.array(symbolShape),
  callers: z.array(symbolShape),
  callees: z.array(symbolShape),
  tests: z.array(z.string()),
  /** One sentence of a model, where one is configured for it. */
  summary: z.string().optional(),
});

const RELATIONS = ["parents", "callers", "callees"] as const;

const renderEnriched = (snippet: z.infer<typeof enrichedSnippet>): string => {
  const related = RELATIONS.filter((relation) => snippet[relation].length > 0).map(
    (relation) => `${relation}: ${snippet[relation].map(renderSymbol).join(", ")}`,
  );
  const tests = snippet.tests.length === 0 ? [] : [`tests: ${snippet.tests.join(", ")}`];
  const summary = snippet.summary === undefined ? [] : [`summary: ${showControls(snippet.summary)}`];
  return [renderSnippet(snippet), ...[...summary, ...related, ...tests].map((line) => `[${line}]`)].join(
    "\n",
  );
};

export const ragSearchEnriched = defineTool({
  name: "rag_search_enriched",
  description: "Search by meaning or name, with callers, callees and tests of what is found.",
  effect: "read",
  backend: "the index",
  input: z.strictObject(findInput),
  output: z.object({
    data: z.object({ snippets: z.array(enrichedSnippet) }),
    meta: z.object(indexMeta),
  }),
  run: async (args, { retrieval, rlm }, call) => {
    const answer = await retrieval.findEnriched(toFindRequest(args), call.signal, reportProgress(call));
    const summaries = await rlm.summarize(
      answer.value.map(({ text }) => text),
      call,
    );
    return {
      data: {
        snippets: answer.value.map((snippet, at) => {
          const summary = summaries[at];
          const { symbol, parents, callers, callees, tests } = snippet.neighbours;
          return {
            ...toSnippet(snippet),
            symbol: symbol === undefined ? null : toSymbol(symbol),
            parents: parents.map(toSymbol),
            callers: callers.map(toSymbol),
            callees: callees.map(toSymbol),
            tests: tests.map(({ path, line }) => `${path}:${line}`),
            ...(summary === undefined ? {} : { summary }),
          };
        }),
      },
      meta: toIndexMeta(answer),
    };
  },
  render: ({ data: { snippets }, meta }) => renderAnswer(meta, snippets.map(renderEnriched)),
});
