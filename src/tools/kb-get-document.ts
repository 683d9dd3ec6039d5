import { z } from "zod";
import { quoteLines, quoteName } from "../base/quote-document.ts";
import { definedOf, renderCitation } from "./kb-shape.ts";
import { defineTool } from "./tool.ts";

export const kbGetDocument = defineTool({
  name: "kb_get_document",
  description: "Read a document of a knowledge base.",
  effect: "read",
  family: "kb",
  backend: "knowledge bases",
  input: z.strictObject({
    doc_id: z.string().min(1).max(256),
    range: z.string().max(40).optional().describe("lines 10-40, pages p3-5, passages #0-4"),
  }),
  output: z.object({
    metadata: z.object({
      title: z.string(),
      uri: z.string(),
      format: z.string(),
      collection: z.string(),
      version: z.string(),
      bytes: z.number(),
      chunks: z.int(),
      warnings: z.array(z.string()),
    }),
    chunks: z.array(
      z.object({
        chunk_id: z.string(),
        text: z.string(),
        anchor: z.string().optional(),
        headings: z.array(z.string()),
      }),
    ),
    license: z.string().optional(),
  }),
  run: async (args, { knowledge }, { caller }) => {
    const { metadata, chunks, license } = await knowledge.getDocument(definedOf(args), caller);
    return {
      metadata: { ...metadata, warnings: [...metadata.warnings] },
      chunks: chunks.map((chunk) => definedOf({ ...chunk, headings: [...chunk.headings] })),
      ...(license === undefined ? {} : { license }),
    };
  },
  render: ({ metadata: { title, uri, version, warnings }, chunks, license }) =>
    [
      renderCitation({ title, anchor: uri, license, version }),
      ...warnings.map((warning) => `note: ${quoteName(warning)}`),
      ...chunks.map(({ text }) => quoteLines(text)),
    ].join("\n\n"),
});
