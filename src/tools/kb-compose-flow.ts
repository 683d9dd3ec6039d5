import { z } from "zod";
import { LlmcError } from "../base/error.ts";
import { citationShape, renderCitation, toCitation } from "./kb-shape.ts";
import { defineTool } from "./tool.ts";

export const kbComposeFlow = defineTool({
  name: "kb_compose_flow",
  description: "Run a declared flow; asks the user.",
  effect: "read",
  family: "kb",
  // Its steps are calls, with backends of their own; some may change something.
  isSafe: false,
  timeoutMs: 300_000,
  input: z.strictObject({
    flow_id: z.string().min(1).max(64),
    params: z.record(z.string(), z.unknown()).optional(),
  }),
  output: z.object({
    results: z.record(z.string(), z.unknown()),
    citations: z.array(citationShape),
    timings: z.record(z.string(), z.number()).describe("milliseconds"),
  }),
  run: async ({ flow_id: id, params = {} }, { knowledge, server }, call) => {
    const { results, citations, timings } = await knowledge.composeFlow(
      { id, params, signal: call.signal },
      call.caller,
      {
        mayCall: (tool) => server.mayCall(tool, call.caller),
        call: async (tool, args, signal) => {
          const answer = await server.callTool({ tool, args, signal, answered: undefined }, call);
          if (answer.kind === "ok") return answer.value;
          if (answer.kind === "error")
            throw new LlmcError(answer.error.code, `${tool}: ${answer.failure.message}`, {
              details: { code: answer.failure.code },
              retryable: answer.failure.retryable,
            });
          throw new LlmcError("forbidden", `${tool} needs the user's consent, which a flow cannot ask for.`, {
            hint: `Call ${tool} by itself first and allow it for the session.`,
          });
        },
      },
    );
    return { results: { ...results }, citations: citations.map(toCitation), timings: { ...timings } };
  },
  render: ({ results, citations }) =>
    [
      JSON.stringify(results),
      ...citations.map((citation, at) => `[${at + 1}] ${renderCitation(citation)}`),
    ].join("\n"),
});
