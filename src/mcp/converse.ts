import type { InputRequiredResult, Server, ServerContext } from "@modelcontextprotocol/server";
import { LlmcError } from "../base/error.ts";
import type { Question } from "../core/contract.ts";
import type { Origin } from "../core/origin.ts";
import { askAndWait, askClient, type StateCodec } from "./questions.ts";

interface Asking {
  readonly kind: "questions";
  readonly questions: Readonly<Record<string, Question>>;
  readonly state: unknown;
}

interface Conversation {
  readonly server: Server;
  readonly codec: StateCodec;
  readonly era: "legacy" | "modern";
}

/** Rounds of one request of a 2025 client; an analysis asks the client's model in most of its turns. */
const MAX_ROUNDS = 64;

const notAnswered = (): LlmcError =>
  new LlmcError("unavailable", "This asks questions that the client cannot answer, or too many of them.", {
    retryable: false,
  });

/**
 * Does the work of a request and asks its client what the work asks, until nothing is left to ask. In the 2026 revision the
 * client comes back with the answers; before, it is asked at once. After too many rounds it is a client that cannot be asked.
 */
export const converse = async <T extends { readonly kind: "ok" | "error" }>(
  { server, codec, era }: Conversation,
  context: ServerContext,
  target: string,
  first: Origin,
  work: (from: Origin) => Promise<T | Asking>,
): Promise<T | { readonly kind: "asks"; readonly asks: InputRequiredResult }> => {
  let from = first;
  for (let round = 1; ; round++) {
    const result = await work(from);
    if (result.kind !== "questions") return result;
    if (era === "modern") return { kind: "asks", asks: await askClient(result, target, codec, context) };
    const { questions, state } = result;
    const canAnswer = Object.values(questions).every(({ kind }) => from.canAsk?.(kind) === true);
    if (!canAnswer) throw notAnswered();
    const ask = () => askAndWait(server, questions, context);
    const answers = await (first.slot === undefined ? ask() : first.slot.leave(ask));
    from = { ...from, answers, state, ...(round < MAX_ROUNDS ? {} : { canAsk: () => false }) };
  }
};
