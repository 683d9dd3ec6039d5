import {
  createRequestStateCodec,
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  type RequestStateCodec,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Question } from "../core/contract.ts";

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

/** State that travels through the client comes back signed, and bound to the method that minted it. */
export type StateCodec = RequestStateCodec;

/** The key is asked for when there is a first state to sign or to verify. */
export const createStateCodec = (makeKey: () => Uint8Array): RequestStateCodec => {
  let made: RequestStateCodec | undefined;
  const codec = () => {
    made ??= createRequestStateCodec({ key: makeKey(), bind: ({ mcpReq }) => mcpReq.method });
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
  codec: StateCodec,
  context: ServerContext,
): Promise<InputRequiredResult> => {
  const inputRequests = Object.fromEntries(
    Object.entries(questions).map(([key, question]) => [key, toRequest(question)]),
  );
  return inputRequired({
    inputRequests,
    ...(state === undefined ? {} : { requestState: await codec.mint(state, context) }),
  });
};
