import { LlmcError } from "../../base/error.ts";

/** A call that may ask a model. */
export interface AnswerCall {
  readonly caller: KnowledgeCaller;
  readonly correlationId: string;
  readonly signal?: AbortSignal | undefined;
}

/** Calls a tool as the caller of a flow: the same pipe, policy and limits as any call of theirs. */
export type CallStep = (tool: string, args: unknown, signal: AbortSignal) => Promise<unknown>;

export interface FlowSteps {
  readonly call: CallStep;
  /** Whether policy, or the user, could ever let the caller of the flow use a tool. */
  readonly mayCall: (tool: string) => Promise<boolean>;
}

/** What a call may reach; every method throws where policy does not allow it, before anything is looked up. */
export interface KnowledgeCaller {
  readonly permitCollection?: ((name: string) => void) | undefined;
  readonly permitFlow?: ((id: string) => void) | undefined;
  readonly permitHost?:
    | ((request: { readonly host: string; readonly refusal: LlmcError | undefined }) => void)
    | undefined;
}

const notDecided = (): LlmcError =>
  new LlmcError("forbidden", "Nobody decided whether this call may use knowledge bases.", {
    hint: "Knowledge bases are reached through the kb_ tools.",
  });

export const checkCollection = ({ permitCollection }: KnowledgeCaller, name: string): void => {
  if (permitCollection === undefined) throw notDecided();
  permitCollection(name);
};

export const checkFlow = ({ permitFlow }: KnowledgeCaller, id: string): void => {
  if (permitFlow === undefined) throw notDecided();
  permitFlow(id);
};

/** Whether a collection may be named at all: what a caller may not read is not listed either. */
export const mayRead = (caller: KnowledgeCaller, name: string): boolean => {
  try {
    checkCollection(caller, name);
    return true;
  } catch {
    // Refused, or in need of the user's consent: nobody is asked for that only to make a list.
    return false;
  }
};
