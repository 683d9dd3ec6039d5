import { z } from "zod";
import { definedOf } from "./kb-shape.ts";
import { defineTool } from "./tool.ts";

export const kbStats = defineTool({
  name: "kb_stats",
  description: "Size, versions and health of knowledge bases.",
  effect: "read",
  family: "kb",
  backend: "knowledge bases",
  input: z.strictObject({
    collection: z.string().min(1).max(64).optional(),
    version: z.string().max(100).optional(),
  }),
  output: z.object({
    size: z.object({ documents: z.int(), chunks: z.int(), bytes: z.number() }),
    versions: z.array(z.string()),
    embedder_version: z.string(),
    health: z.enum(["healthy", "degraded", "empty"]),
    problems: z.array(z.string()).optional(),
    eval_scores: z.record(z.string(), z.number()).optional(),
  }),
  run: async (args, { knowledge }, { caller }) => {
    const { versions, problems, ...stats } = await knowledge.stats(definedOf(args), caller);
    return definedOf({
      ...stats,
      versions: [...versions],
      ...(problems === undefined ? {} : { problems: [...problems] }),
      ...(stats.eval_scores === undefined ? {} : { eval_scores: { ...stats.eval_scores } }),
    });
  },
  render: ({ size, versions, embedder_version: embedder, health, problems = [], eval_scores: scores }) =>
    [
      `${health}: ${size.documents} documents, ${size.chunks} chunks, ${size.bytes} bytes`,
      ...problems,
      `versions ${versions.join(", ") || "none"}; embedder ${embedder}`,
      ...(scores === undefined
        ? []
        : [
            Object.entries(scores)
              .map(([name, value]) => `${name} ${value}`)
              .join(", "),
          ]),
    ].join("\n"),
});
