import { z } from "zod";
import type { RetrievalPlan } from "../retrieve/plan.ts";
import {
  indexMeta,
  MAX_QUERY_CHARS,
  renderNotes,
  renderSymbol,
  srcOf,
  symbolShape,
  toIndexMeta,
  toSymbol,
} from "./rag-shape.ts";
import { defineTool } from "./tool.ts";

const planShape = z.object({
  spans: z.array(
    z.object({
      src: z.string(),
      name: z.string(),
      score: z.number(),
      words: z.array(z.string()),
      /** What else speaks for the file; only of a report. */
      why: z.array(z.string()).optional(),
    }),
  ),
  symbols: z.array(symbolShape),
  confidence: z.number(),
  missing: z.array(z.string()),
});

const toData = ({ spans, symbols, confidence, missing }: RetrievalPlan): z.infer<typeof planShape> => ({
  spans: spans.map((span) => ({
    src: srcOf(span),
    name: span.name,
    score: Math.round(span.score * 1000) / 1000,
    words: [...span.matchedTerms],
    ...(span.reasons.length === 0 ? {} : { why: [...span.reasons] }),
  })),
  symbols: symbols.map(toSymbol),
  confidence,
  missing: [...missing],
});

const planText = ({ spans, symbols, confidence, missing }: z.infer<typeof planShape>): string =>
  [
    ...(spans.length === 0
      ? ["[nothing found]"]
      : spans.map(({ src, name, words: terms, why = [] }) =>
          [src, name, why.length === 0 ? terms.join(" ") : why.join("; ")]
            .filter((part) => part !== "")
            .join(" | "),
        )),
    ...(symbols.length === 0 ? [] : [`defined: ${symbols.map(renderSymbol).join(", ")}`]),
    `[confidence ${confidence}${missing.length === 0 ? "" : `; nowhere: ${missing.join(", ")}`}]`,
  ].join("\n");

/** What a model reads of a plan, without the notes on the index. */
export const renderPlan = (plan: RetrievalPlan): string => planText(toData(plan));

export const ragPlan = defineTool({
  name: "rag_plan",
  description:
    "Plan where to look for an answer, or what to change for a bug report: spans, reasons, symbols, confidence.",
  effect: "read",
  backend: "the index",
  input: z.strictObject({
    query: z.string().min(1).max(MAX_QUERY_CHARS),
    scope: z.enum(["repo", "docs", "both"]).optional(),
    k: z.int().min(1).max(50).default(8).describe("max spans"),
  }),
  output: z.object({
    data: planShape,
    meta: z.object(indexMeta),
  }),
  run: async ({ query, scope, k }, { retrieval }, { signal }) => {
    const answer = await retrieval.plan({ query, scope, k }, signal);
    return { data: toData(answer.value), meta: toIndexMeta(answer) };
  },
  render: ({ data, meta }) => [planText(data), ...renderNotes(meta.notes)].join("\n"),
});
