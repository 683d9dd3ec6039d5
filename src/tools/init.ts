import { z } from "zod";
import { defineTool } from "./tool.ts";

/** For clients that ignore the server's instructions: the same text, as a tool. */
export const init = defineTool({
  name: "00_INIT",
  description: "How to use this server; call once if you have no instructions.",
  effect: "read",
  input: z.strictObject({}),
  output: z.object({ data: z.string(), meta: z.object({}) }),
  run: async (_args, { server }, { caller }) => ({ data: server.instructions(caller), meta: {} }),
  render: ({ data }) => data,
});
