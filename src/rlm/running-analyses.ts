import { LlmcError } from "../base/error.ts";
import { firstToGo } from "../sandbox/first-to-go.ts";
import type { RlmAnswer } from "./port.ts";
import type { SamplingClient, SamplingQuestions } from "./sampling.ts";

/** An analysis that outlives single calls, because its model is asked between them. */
export interface RunningAnalysis {
  readonly id: string;
  readonly principal: string;
  /** Of the query that started it, as a text. */
  readonly query: string;
  readonly client: SamplingClient;
  readonly controller: AbortController;
  readonly done: Promise<RlmAnswer>;
}

export type Step = { readonly answer: RlmAnswer } | { readonly questions: SamplingQuestions };

/** An analysis that nobody takes up is dropped after this; its own timeouts mostly end it before. */
const WAITING_MS = 600_000;
/** Of one principal: an analysis holds its context and an interpreter. */
const MAX_WAITING = 8;
const MAX_WAITING_IN_ALL = 64;

const EXPIRED = new LlmcError("timeout", "The client did not bring the answers of its model.");

const notWaiting = (): LlmcError =>
  new LlmcError("provider_error", "The analysis no longer waits for an answer.", {
    hint: "Start it again.",
    retryable: false,
  });

const otherQuery = (): LlmcError =>
  new LlmcError("invalid_args", "The analysis that asked was started with other arguments.", {
    hint: "Send the answers with the same arguments, or start a new analysis without the state.",
  });

/** Runs until the analysis ends, or until its model has to be asked. */
export const runStep = async (
  { client, controller, done }: RunningAnalysis,
  answers: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<Step> => {
  const stop = (): void => controller.abort(signal.reason);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  try {
    client.answer(answers);
    return await Promise.race([
      done.then((answer) => ({ answer })),
      client.nextQuestions().then((questions) => ({ questions })),
    ]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
};

/** Analyses that wait for their client; each belongs to its principal and is taken up once. */
export const createWaitingAnalyses = () => {
  const waiting = new Map<string, RunningAnalysis & { readonly timer: NodeJS.Timeout }>();
  const takeOut = (id: string): RunningAnalysis | undefined => {
    const kept = waiting.get(id);
    clearTimeout(kept?.timer);
    waiting.delete(id);
    return kept;
  };
  const end = (id: string): void => takeOut(id)?.controller.abort(EXPIRED);
  return {
    keep: (running: RunningAnalysis): void => {
      const { id, principal } = running;
      waiting.set(id, { ...running, timer: setTimeout(() => end(id), WAITING_MS).unref() });
      const own = [...waiting.values()].filter((kept) => kept.principal === principal);
      // Nobody loses an analysis to somebody who has more of them.
      const first = own.length > MAX_WAITING ? own[0]?.id : undefined;
      const evicted = first ?? (waiting.size > MAX_WAITING_IN_ALL ? firstToGo(waiting) : undefined);
      if (evicted !== undefined) end(evicted);
    },
    take: (id: unknown, principal: string, query: string): RunningAnalysis => {
      const kept = typeof id === "string" ? waiting.get(id) : undefined;
      if (kept === undefined || kept.principal !== principal) throw notWaiting();
      if (kept.query !== query) throw otherQuery();
      takeOut(kept.id);
      return kept;
    },
  };
};
