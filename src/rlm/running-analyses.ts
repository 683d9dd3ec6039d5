import { LlmcError } from "../base/error.ts";
import type { AnalysisSlots } from "../sandbox/slots.ts";
import { createSuspended, type SuspendedWork } from "../sandbox/suspended.ts";
import type { RlmAnswer } from "./port.ts";
import type { SamplingClient, SamplingQuestions } from "./sampling.ts";

/** An analysis that outlives single calls, because its model is asked between them. */
export interface RunningAnalysis extends SuspendedWork {
  readonly client: SamplingClient;
  /** Others run while the client is asked: it holds memory then, and no slot. */
  readonly slots: Pick<AnalysisSlots, "suspend" | "resume">;
  readonly done: Promise<RlmAnswer>;
}

export type Step = { readonly answer: RlmAnswer } | { readonly questions: SamplingQuestions };

/** An analysis holds its context and an interpreter. */
const MAX = { each: 8, inAll: 64 };

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
  { client, slots, done, stop: end }: RunningAnalysis,
  answers: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<Step> => {
  const stop = (): void => end(signal.reason);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  try {
    // Its time may be up before it has one.
    await Promise.race([slots.resume(signal), done]);
    client.answer(answers);
    const step = await Promise.race([
      done.then((answer) => ({ answer })),
      client.nextQuestions().then((questions) => ({ questions })),
    ]);
    if ("questions" in step) slots.suspend();
    return step;
  } finally {
    signal.removeEventListener("abort", stop);
  }
};

/** Analyses that wait for their client. */
export const createWaitingAnalyses = () =>
  createSuspended<RunningAnalysis>({ max: MAX, notWaiting, otherRequest: otherQuery, expired: EXPIRED });
