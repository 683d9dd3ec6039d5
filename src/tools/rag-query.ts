import { z } from "zod";
import { indexMeta, MAX_QUERY_CHARS, renderAnswer, srcOf, toIndexMeta } from "./rag-shape.ts";
import { defineTool } from "./tool.ts";

/** Locations cost a few tokens each, so there may be more of them than of snippets. */
const DEFAULT_LOCATIONS = 10;

export const ragQuery = defineTool({
  name: "rag_query",
  description: "Find locations by meaning, without their text.",
  effect: "read",
  backend: "the index",
  input: z.strictObject({
    query: z.string().min(1).max(MAX_QUERY_CHARS),
    scope: z.enum(["repo", "docs", "both"]).optional(),
    k: z.int().min(1).max(50).default(DEFAULT_LOCATIONS),
  }),
  output: z.object({
    data: z.object({
      places: z.array(z.object({ src: z.string(), name: z.string(), score: z.number() })),
    }),
    meta: z.object({ ...indexMeta, confidence: z.number() }),
  }),
  run: async ({ query, scope, k }, { retrieval }, { signal }) => {
    const answer = await retrieval.plan({ query, scope, k }, signal);
    return {
      data: {
        places: answer.value.spans.map((span) => ({
          src: srcOf(span),
          name: span.name,
          score: Math.round(span.score * 1000) / 1000,
        })),
      },
      meta: { ...toIndexMeta(answer), confidence: answer.value.confidence },
    };
  },
  render: ({ data, meta }) =>
    renderAnswer(
      meta,
      data.places.map(({ src, name }) => (name === "" ? src : `${src} ${name}`)),
    ),
});
