import { LlmcError } from "../../base/error.ts";
import { checkFlow, type FlowSteps, type KnowledgeCaller } from "../api/caller.ts";
import type { FlowAnswer } from "../api/contract.ts";
import { checkName } from "../api/ids.ts";
import type { Knowledge } from "../api/port.ts";
import { type BrokenFlow, type DeclaredFlow, isBroken } from "./flow.ts";
import { readInputs } from "./read-flow.ts";
import { checkPermissions, runFlow } from "./run-flow.ts";

type FlowRequest = Parameters<Knowledge["composeFlow"]>[0];

const noFlow = (id: string, broken: readonly BrokenFlow[]): LlmcError =>
  new LlmcError("resource_not_found", `There is no flow ${JSON.stringify(id)}.`, {
    hint:
      broken.length === 0
        ? "The operator declares flows in the folder that mcp.kb.flows names."
        : `Some files cannot be used: ${broken.map(({ error }) => error.message).join(" ")}`,
  });

/** Runs a declared flow for a caller that may; what it may not is refused before the flow is looked up. */
export const composeFlow = async (
  declared: readonly DeclaredFlow[],
  { id, params, signal }: FlowRequest,
  caller: KnowledgeCaller,
  steps: FlowSteps,
): Promise<FlowAnswer> => {
  checkFlow(caller, checkName(id));
  const flow = declared.find((one) => one.id === id);
  if (flow === undefined) throw noFlow(id, declared.filter(isBroken));
  if (isBroken(flow)) throw flow.error;
  await checkPermissions(flow, steps);
  return runFlow(flow, readInputs(flow, params), steps.call, signal);
};
