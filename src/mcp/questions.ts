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
 * State that travels through the client comes back signed, and bound to the principal, the method and the tool (or
 * prompt, or resource) that it was made for: nobody else can send it, and not to anything else.
 */
export type StateCodec = RequestStateCodec;

const bindingOf = ({ mcpReq, http }: ServerContext): string =>
  `${mcpReq.method}\0${principalOf(http?.authInfo) ?? ""}`;

/** The library binds state to its context, which does not name the tool: that goes along, signed as well. */
interface Sealed {
  readonly of: string;
  readonly state: unknown;
}

/** What an earlier round of a request for the same tool, prompt or resource left with the client. */
export const stateFor = (target: string | undefined, sealed: unknown): unknown => {
  if (sealed === undefined) return undefined;
  const { of, state } = sealed as Sealed;
  if (of !== target)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, "The state is of another request.");
  return state;
};

/** The key is asked for when there is a first state to sign or to verify. */
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

/** Questions of a tool, as the client understands them; on older protocol revisions the SDK asks them one by one. */
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
