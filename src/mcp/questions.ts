import {
  createRequestStateCodec,
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type RequestStateCodec,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { type Question, UNANSWERED } from "../core/contract.ts";
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

/** Milliseconds in which a model of the client answers, and everything else that says nothing of its time. */
const ANSWER_MS = 600_000;

/**
 * The 2025 revisions: the server asks in the middle of the client's request, and waits. A question that fails, for whatever
 * reason, is one that nobody answered; what follows from that is decided by whoever asked. A request that was cancelled ends.
 */
export const askAndWait = async (
  server: Server,
  questions: Readonly<Record<string, Question>>,
  { mcpReq: { id, signal } }: ServerContext,
): Promise<Readonly<Record<string, unknown>>> => {
  const ask = async (question: Question): Promise<unknown> => {
    const timeout = (question.kind === "form" ? question.timeoutMs : undefined) ?? ANSWER_MS;
    try {
      const { method, params = {} } = toRequest(question);
      return await server.request({ method, params }, { relatedRequestId: id, timeout, signal });
    } catch (thrown) {
      // Nobody waits for the answer any more, so nothing may follow from its absence.
      if (signal.aborted) throw thrown;
      return UNANSWERED;
    }
  };
  const asked = Object.entries(questions).map(async ([key, question]) => [key, await ask(question)] as const);
  return Object.fromEntries(await Promise.all(asked));
};

/** The 2026 revision: the request ends with its questions, and comes again with the answers. */
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
