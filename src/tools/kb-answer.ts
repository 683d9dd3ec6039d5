import { z } from "zod";
import {
  answerFiltersInput,
  citationShape,
  definedOf,
  queryInput,
  renderCitation,
  toCitation,
  toFilters,
} from "./kb-shape.ts";
import { defineTool } from "./tool.ts";

export const kbAnswer = defineTool({
  name: "kb_answer",
  description: "Answer from the knowledge bases, with citations.",
  effect: "read",
  family: "kb",
  backend: "knowledge bases",
  input: z.strictObject({
    query: queryInput,
    filters: answerFiltersInput,
    model: z.string().min(1).max(200).optional(),
  }),
  output: z.object({
    text: z.string(),
    citations: z.array(citationShape),
    confidence: z.number(),
    meta: z.object({ collections_asked: z.int(), collections_left_out: z.int() }).optional(),
  }),
  run: async ({ query, filters, model }, { knowledge }, { caller, correlationId, signal }) => {
    const { text, citations, confidence, meta } = await knowledge.answer(
      { query, filters: toFilters(filters), ...(model === undefined ? {} : { model }) },
      { caller, correlationId, signal },
    );
    return definedOf({ text, citations: citations.map(toCitation), confidence, meta });
  },
  render: ({ text, citations, confidence, meta }) =>
    [
      citations.length > 0
        ? `${text}\nconfidence ${confidence}`
        : `${text} (confidence of an answer ${confidence}; kb_hybrid_search shows the nearest passages)`,
      ...(meta === undefined
        ? []
        : [
            `note: ${meta.collections_asked} knowledge bases were asked, ${meta.collections_left_out} were not; filters.collection asks one`,
          ]),
      ...citations.map((citation, at) => `${at + 1} = ${renderCitation(citation)}`),
    ].join("\n"),
});
