import { LlmcError } from "../../base/error.ts";
import { isRecord } from "../../base/is-record.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import type { CallStep, FlowSteps } from "../api/caller.ts";
import type { Citation, FlowAnswer } from "../api/contract.ts";
import { createCharCount, type Flow, type FlowStep, fill, resolveReference, type Scope } from "./flow.ts";

/** Nothing of a flow runs if one of its steps never could. */
export const checkPermissions = async ({ id, steps }: Flow, { mayCall }: FlowSteps): Promise<void> => {
  for (const { tool, id: step } of steps) {
    if (await mayCall(tool)) continue;
    throw new LlmcError(
      "forbidden",
      `The flow ${id} cannot run: its step ${step} calls ${tool}, which this caller can never use.`,
      { hint: "llmc policy explain says why. None of its steps was run." },
    );
  }
};

/** Runs of one step at the same time, and at all. */
const PARALLEL = 4;
const MAX_ITEMS = 50;

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === 0 ||
  value === "" ||
  (Array.isArray(value) && value.length === 0);

/** Fails when everything that was begun has ended; `work` begins nothing more once it has failed. */
const inParallel = async <T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> => {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const at = next++;
      results[at] = await work(items[at] as T);
    }
  };
  const workers = Array.from({ length: Math.min(PARALLEL, items.length) }, worker);
  await Promise.allSettled(workers);
  await Promise.all(workers);
  return results;
};

/** One run of a flow. */
interface Run {
  readonly call: CallStep;
  /** Aborted by the caller, or by the first call that fails: no other is begun after that. */
  readonly signal: AbortSignal;
  readonly fail: (thrown: unknown) => void;
  /** Throws where the results of all steps become too large together. */
  readonly count: (result: unknown) => void;
}

const runStep = async (
  step: FlowStep,
  scope: Scope,
  { call, signal, fail, count }: Run,
): Promise<unknown> => {
  const { tool, args, forEach, timeoutMs, id } = step;
  const timeout = AbortSignal.timeout(timeoutMs);
  const own = AbortSignal.any([timeout, signal]);
  const once = async (at: Scope): Promise<unknown> => {
    stopIfAborted(signal);
    try {
      const result = await call(tool, fill(args, at), own);
      count(result);
      return result;
    } catch (thrown) {
      const isLate = timeout.aborted && !signal.aborted;
      const why = isLate
        ? new LlmcError("timeout", `The step ${id} of the flow took longer than ${timeoutMs} ms.`)
        : thrown;
      fail(why);
      throw why;
    }
  };
  if (forEach === undefined) return once(scope);
  const items = resolveReference(scope, forEach);
  if (!Array.isArray(items))
    throw new LlmcError("invalid_args", `The step ${id} runs for each item of something that is not a list.`);
  if (items.length > MAX_ITEMS)
    throw new LlmcError(
      "invalid_args",
      `The step ${id} would run for ${items.length} items; a step runs for at most ${MAX_ITEMS}.`,
      { hint: "Ask for fewer items in the step that the list comes from, for example with top_k." },
    );
  return inParallel(items, (item) => once({ ...scope, item }));
};

/** Citations in a result: those of an answer, and those of hits. */
const citationsIn = (value: unknown): readonly Citation[] => {
  if (Array.isArray(value)) return value.flatMap(citationsIn);
  if (!isRecord(value)) return [];
  const { citations, hits, citation } = value;
  const isCitation = (one: unknown): one is Citation => isRecord(one) && typeof one["title"] === "string";
  return [
    ...(Array.isArray(citations) ? citations.filter(isCitation) : []),
    ...(Array.isArray(hits) ? hits.flatMap((hit) => citationsIn(hit)) : []),
    ...(isCitation(citation) ? [citation] : []),
  ];
};

/**
 * Runs the steps of a flow, those that do not wait for each other at the same time. It fails with the first call that does,
 * once the calls that were under way have ended.
 */
export const runFlow = async (
  flow: Flow,
  inputs: Readonly<Record<string, unknown>>,
  call: CallStep,
  signal?: AbortSignal,
): Promise<FlowAnswer> => {
  const results: Record<string, unknown> = {};
  const timings: Record<string, number> = {};
  const started = new Map<string, Promise<void>>();
  const failing = new AbortController();
  let first: { readonly thrown: unknown } | undefined;
  const fail = (thrown: unknown): void => {
    first ??= { thrown };
    failing.abort(thrown);
  };
  const running: Run = {
    call,
    signal: signal === undefined ? failing.signal : AbortSignal.any([failing.signal, signal]),
    fail,
    count: createCharCount("What the steps of the flow give"),
  };
  const run = (step: FlowStep): Promise<void> => {
    const known = started.get(step.id);
    if (known !== undefined) return known;
    const work = (async () => {
      await Promise.all(flow.steps.filter(({ id }) => step.needs.includes(id)).map(run));
      stopIfAborted(running.signal);
      const scope = { inputs, steps: results };
      if (step.when !== undefined && isEmpty(resolveReference(scope, step.when))) return;
      const from = performance.now();
      results[step.id] = await runStep(step, scope, running);
      timings[step.id] = Math.round((performance.now() - from) * 10) / 10;
    })();
    work.catch(fail);
    started.set(step.id, work);
    return work;
  };
  await Promise.allSettled(flow.steps.map(run));
  if (first !== undefined) {
    stopIfAborted(signal);
    throw first.thrown;
  }
  const cited = new Map(citationsIn(Object.values(results)).map((one) => [JSON.stringify(one), one]));
  return { results, citations: [...cited.values()], timings };
};
