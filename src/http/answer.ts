import { LlmcError } from "../base/error.ts";
import type { CallResult } from "../core/call.ts";

/** The payload of a successful call, in its document's own shape; a tool that only has text answers with `data`. */
export const payloadOf = (result: CallResult): unknown => {
  if (result.kind === "error") throw result.error;
  if (result.kind === "questions") {
    throw new LlmcError(
      "unavailable",
      "This tool asks its client questions, which this endpoint cannot pass on.",
      {
        hint: "Call it from an MCP client, at /mcp.",
      },
    );
  }
  if (result.structured !== undefined) return result.structured;
  const [only, ...others] = result.content;
  const data = only?.type === "text" && others.length === 0 ? only.text : result.content;
  return { data, meta: { truncated: result.truncated } };
};
