import type { CompleteRequest, CompleteResult } from "@modelcontextprotocol/server";
import type { Core } from "../core/core.ts";

/** The protocol's own bound on one answer. */
const MAX_VALUES = 100;

const suggestions = async (
  core: Core,
  { ref, argument }: CompleteRequest["params"],
): Promise<readonly string[]> => {
  if (ref.type === "ref/prompt") {
    const prompt = core.prompts().find(({ name }) => name === ref.name);
    const described = prompt?.arguments?.find(({ name }) => name === argument.name);
    return (await described?.complete?.(argument.value)) ?? [];
  }
  const template = core.templates().find(({ uriTemplate }) => uriTemplate === ref.uri);
  return (await template?.complete?.(argument.name, argument.value)) ?? [];
};

/** Suggestions for arguments of prompts and variables of resource templates; modules that offer them say how. */
export const complete = async (core: Core, params: CompleteRequest["params"]): Promise<CompleteResult> => {
  const values = await suggestions(core, params);
  return {
    completion: {
      values: values.slice(0, MAX_VALUES),
      total: values.length,
      hasMore: values.length > MAX_VALUES,
    },
  };
};
