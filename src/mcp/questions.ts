import {
  createRequestStateCodec,
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type RequestStateCodec,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Question } from "../core/contract.ts";
import { principalOf } from "./origin.ts";

type ElicitParams = Parameters<typeof inputRequired.elicit>[0];
type SamplingParams = Parameters<typeof inputRequired.createMessage>[0];

const toRequest = (question: Question): InputRequest => {
  switch (question.kind) {
    case "form":
      return inputRequired.elicit({
        message: question.message,
        requestedSchema: question.schema as ElicitParams["requestedSchema"],
      });
    case "sampling":
      return inputRequired.createMessage(question.request as SamplingParams);
    case "roots":
      return inputRequired.listRoots();
  }
};

/**
 * State that travels through the client is signed and bound to the principal, the method and the tool (or prompt, or
 * resource) it was made for, so that it cannot be used by anybody else or for anything else.
 */
export type StateCodec = RequestStateCodec;

const bindingOf = ({ mcpReq, http }: ServerContext): string =>
  `${mcpReq.method}\0${principalOf(http?.authInfo) ?? ""}`;

/** The library binds state to its context, which does not name the tool, so the signed state names it. */
interface Sealed {
  readonly of: string;
  readonly state: unknown;
}

/** The state that an earlier round of the same request left with the client. */
export const stateFor = (target: string | undefined, sealed: unknown): unknown => {
  if (sealed === undefined) return undefined;
  const { of, state } = sealed as Sealed;
  if (of !== target)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, "The state belongs to another request.");
  return state;
};

/** The key is created when the first state is signed or verified. */
export const createStateCodec = (makeKey: () => Uint8Array): RequestStateCodec => {
  let made: RequestStateCodec | undefined;
  const codec = () => {
    made ??= createRequestStateCodec({ key: makeKey(), bind: bindingOf });
    return made;
  };
  return {
    mint: (payload, context) => codec().mint(payload, context),
    verify: (state, context) => codec().verify(state, context),
  };
};

/** The questions of a tool in the form of the protocol; in older revisions the SDK asks them one by one. */
export const askClient = async (
  { questions, state }: { readonly questions: Readonly<Record<string, Question>>; readonly state: unknown },
  target: string,
  codec: StateCodec,
  context: ServerContext,
): Promise<InputRequiredResult> => {
  const inputRequests = Object.fromEntries(
    Object.entries(questions).map(([key, question]) => [key, toRequest(question)]),
  );
  return inputRequired({
    inputRequests,
    ...(state === undefined
      ? {}
      : { requestState: await codec.mint({ of: target, state } satisfies Sealed, context) }),
  });
};
