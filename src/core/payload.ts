import { LlmcError } from "../base/error.ts";
import type { CallResult } from "./call.ts";

/** The body for a successful call: the tool's structured output or, for a tool that only has text, `{data, meta}`. */
export const payloadOf = (result: CallResult): unknown => {
  if (result.kind === "error") throw result.error;
  if (result.kind === "questions") {
    throw new LlmcError("unavailable", "This tool asks its user questions, which this endpoint cannot do.", {
      hint: "Call it from an MCP client, at /mcp.",
    });
  }
  if (result.structured !== undefined) return result.structured;
  const [only, ...others] = result.content;
  const data = only?.type === "text" && others.length === 0 ? only.text : result.content;
  return { data, meta: { truncated: result.truncated } };
};
