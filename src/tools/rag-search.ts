import { z } from "zod";
import {
  findInput,
  indexMeta,
  renderAnswer,
  renderSnippet,
  reportProgress,
  snippetShape,
  toFindRequest,
  toIndexMeta,
  toSnippet,
} from "./rag-shape.ts";
import { defineTool } from "./tool.ts";

export const ragSearch = defineTool({
  name: "rag_search",
  description: "Find code and documents by meaning or name.",
  effect: "read",
  backend: "the index",
  input: z.strictObject(findInput),
  output: z.object({
    data: z.object({ snippets: z.array(z.object(snippetShape)) }),
    meta: z.object(indexMeta),
  }),
  run: async (args, { retrieval }, call) => {
    const answer = await retrieval.find(toFindRequest(args), call.signal, reportProgress(call));
    return { data: { snippets: answer.value.map(toSnippet) }, meta: toIndexMeta(answer) };
  },
  render: ({ data: { snippets }, meta }) => renderAnswer(meta, snippets.map(renderSnippet)),
});
