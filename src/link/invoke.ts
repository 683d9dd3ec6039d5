import { z } from "zod";
import { LlmcError } from "../base/error.ts";
import type { Core } from "../core/core.ts";
import type { Origin } from "../core/origin.ts";
import { payloadOf } from "../core/payload.ts";
import { validateArguments } from "../core/validate.ts";

/** What other programs send to `/invoke` (REQ-H1): a tool by its name, dotted or not. */
export const invokeBody = z.strictObject({
  method: z.string().min(1).max(200).describe("The tool; kb.stats and kb_stats are the same."),
  params: z.record(z.string(), z.unknown()).default({}).describe("The tool's arguments."),
  session_id: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe("Names the conversation or task in logs and telemetry."),
});

export const invokeAnswer = z.object({
  result: z.unknown().describe("The tool's own document; a list where the published API has one."),
  request_id: z.string(),
});

type InvokeBody = z.infer<typeof invokeBody>;

/** One call by `/invoke`; whoever serves it knows who calls, and renders what is thrown. */
export const invoke = async (
  core: Pick<Core, "call">,
  body: unknown,
  originOf: (sessionId: string) => Origin,
): Promise<z.infer<typeof invokeAnswer>> => {
  const {
    method,
    params,
    session_id: sessionId = "",
  } = (await validateArguments(invokeBody, body)) as InvokeBody;
  const origin = originOf(sessionId);
  const result = await core.call({ ...origin, tool: method, args: params });
  const list = result.kind === "ok" ? result.list : undefined;
  return { result: list ?? payloadOf(result), request_id: origin.correlationId };
};

export const refuseInAirGap = (): LlmcError =>
  new LlmcError("forbidden", "In air-gapped mode, /invoke is served over the Unix socket only.", {
    hint: "See mcp.server.invoke_socket.",
  });
