import { z } from "zod";
import { defineTool } from "./tool.ts";

export const searchTools = defineTool({
  name: "search_tools",
  description: "Find tools for programs: describe what you need; returns their declarations.",
  effect: "read",
  input: z.strictObject({
    query: z.string().min(1).max(1000),
    limit: z.int().min(1).max(50).default(5),
  }),
  output: z.object({
    data: z.array(z.object({ name: z.string(), description: z.string(), stub: z.string() })),
    meta: z.object({ index: z.string() }),
  }),
  run: async ({ query, limit }, { server }, { caller }) => ({
    data: [...(await server.stubs.search(query, limit, caller))],
    meta: { index: ".llmc/stubs/index.md" },
  }),
  render: ({ data, meta }) =>
    data.length === 0
      ? `[no tool matches; read_file ${meta.index} lists all]`
      : data.map(({ stub }) => stub.trimEnd()).join("\n"),
});
