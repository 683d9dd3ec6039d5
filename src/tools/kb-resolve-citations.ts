import { z } from "zod";
import { quoteName } from "../base/quote-document.ts";
import { citationShape, definedOf, renderCitation } from "./kb-shape.ts";
import { defineTool } from "./tool.ts";

export const kbResolveCitations = defineTool({
  name: "kb_resolve_citations",
  description: "Sources of chunk ids.",
  effect: "read",
  family: "kb",
  backend: "knowledge bases",
  list: "citations",
  input: z.strictObject({ chunk_ids: z.array(z.string().max(256)).min(1).max(100) }),
  output: z.object({
    citations: z.array(
      citationShape.extend({ error: z.string().optional().describe("of an id that has gone") }),
    ),
  }),
  run: async ({ chunk_ids: ids }, { knowledge }, { caller }) => ({
    citations: (await knowledge.resolveCitations(ids, caller)).map(definedOf),
  }),
  render: ({ citations }) =>
    citations
      .map(({ error, ...citation }) =>
        error === undefined ? renderCitation(citation) : `${quoteName(citation.title)}: ${error}`,
      )
      .join("\n"),
});
