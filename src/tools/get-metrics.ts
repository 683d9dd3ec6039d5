import { z } from "zod";
import { defineTool } from "./tool.ts";

export const getMetrics = defineTool({
  name: "get_metrics",
  description: "Calls, errors, latencies and sizes since start.",
  effect: "read",
  input: z.strictObject({}),
  output: z.object({ data: z.record(z.string(), z.unknown()), meta: z.object({}) }),
  run: async (_args, { server }) => ({ data: await server.metrics(), meta: {} }),
  render: (output) => JSON.stringify(output.data),
});
