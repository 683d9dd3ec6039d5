import type { CompleteRequest, CompleteResult } from "@modelcontextprotocol/server";
import type { Core } from "../core/core.ts";
import type { Origin } from "../core/guard.ts";

/** The limit of the protocol. */
const MAX_VALUES = 100;

/** Suggestions for the arguments of prompts and the variables of resource templates; custom modules provide them. */
export const complete = async (
  core: Core,
  { ref, argument }: CompleteRequest["params"],
  from: Origin,
): Promise<CompleteResult> => {
  const of = ref.type === "ref/prompt" ? { prompt: ref.name } : { template: ref.uri };
  const values = await core.suggest(of, argument.name, argument.value, from);
  return {
    completion: {
      values: values.slice(0, MAX_VALUES),
      total: values.length,
      hasMore: values.length > MAX_VALUES,
    },
  };
};
