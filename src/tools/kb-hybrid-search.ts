import { z } from "zod";
import { quoteLines } from "../base/quote-document.ts";
import {
  citationShape,
  filtersInput,
  queryInput,
  renderCitation,
  toCitation,
  toFilters,
} from "./kb-shape.ts";
import { defineTool } from "./tool.ts";

export const kbHybridSearch = defineTool({
  name: "kb_hybrid_search",
  description: "Search a knowledge base.",
  effect: "read",
  family: "kb",
  backend: "knowledge bases",
  list: "hits",
  input: z.strictObject({
    collection: z.string().min(1).max(64),
    query: queryInput,
    top_k: z.int().min(1).max(50).default(5),
    filters: filtersInput,
    cache_ttl: z.number().min(0).max(86_400).optional().describe("seconds"),
  }),
  output: z.object({
    hits: z.array(
      z.object({
        chunk_id: z.string(),
        score: z.number(),
        snippet: z.string(),
        citation: citationShape,
        meta: z.object({ doc_id: z.string(), headings: z.array(z.string()), kind: z.string() }),
      }),
    ),
  }),
  run: async (args, { knowledge }, { caller }) => {
    const hits = await knowledge.hybridSearch({ ...args, filters: toFilters(args.filters) }, caller);
    return {
      hits: hits.map((hit) => ({
        ...hit,
        citation: toCitation(hit.citation),
        meta: { ...hit.meta, headings: [...hit.meta.headings] },
      })),
    };
  },
  render: ({ hits }) =>
    hits.length === 0
      ? "no hits"
      : hits
          .map(
            ({ chunk_id: id, snippet, citation }) =>
              `${renderCitation(citation)} ${id}\n${quoteLines(snippet)}`,
          )
          .join("\n\n"),
});
