import { LlmcError, toLlmcError } from "../base/error.ts";
import type { AnalysisParts, AnalysisReport, AnalysisRequest, Answer } from "./contract.ts";
import { runNode } from "./node.ts";
import { type TracedNode, TraceRecorder } from "./trace.ts";
import { Tree } from "./tree.ts";

export interface AnalysisEnd extends AnalysisReport {
  readonly answer: Answer | undefined;
  /** Why there is no answer, or only a part of one. */
  readonly failure: LlmcError | undefined;
  readonly nodes: readonly TracedNode[];
}

const timedOut = (timeoutMs: number): LlmcError =>
  new LlmcError("timeout", `The analysis took longer than ${timeoutMs / 1000} s.`, {
    hint: "Raise timeout_s, or ask for less.",
  });

const neverStarted = (timeoutMs: number): LlmcError =>
  new LlmcError("timeout", `Other analyses ran for all of the ${timeoutMs / 1000} s of this one.`, {
    hint: "Try again when they have ended; the operator's limit is mcp.code_execution.max_programs.",
  });

/** Ends with the caller's signal, or when time is up. */
const deadlineOf = (timeoutMs: number, signal: AbortSignal) => {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(timedOut(timeoutMs)), timeoutMs);
  const stop = (): void =>
    controller.abort(
      signal.reason instanceof LlmcError
        ? signal.reason
        : new LlmcError("cancelled", "The analysis was cancelled."),
    );
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  return {
    signal: controller.signal,
    end: (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      // Nobody waits any more for what is still under way.
      controller.abort(new LlmcError("cancelled", "The analysis has ended."));
    },
  };
};

/** Where one of these limits ends an analysis, its last draft may be given, if the operator allows that. */
const PARTIAL_CODES = new Set(["budget_exceeded", "timeout"]);

const draftOf = (draft: unknown): Answer | undefined => {
  const text =
    typeof draft === "string" ? draft : draft === undefined ? "" : (JSON.stringify(draft, null, 1) ?? "");
  return text.trim() === "" || draft === null ? undefined : { text, evidence: [], isPartial: true };
};

/** Runs a session to its end. A failure is part of the result, because what it cost is known only here. */
export const analyse = async (
  request: AnalysisRequest,
  parts: AnalysisParts,
  keepsText = false,
): Promise<AnalysisEnd> => {
  const { rootModel, subModel, limits, task, context } = request;
  const root = await parts.open(rootModel);
  const sub = subModel === rootModel ? root : await parts.open(subModel);
  const trace = new TraceRecorder(parts.now, keepsText);
  const deadline = deadlineOf(limits.timeoutMs, request.signal);
  const tree = new Tree(request, parts, { root, sub }, deadline.signal, trace);
  let draft: unknown;
  let hasSlot = false;
  const finish = async (): Promise<Pick<AnalysisEnd, "answer" | "failure">> => {
    try {
      const { signal } = deadline;
      // Before a model is asked: what cannot run costs nothing.
      await parts.slots.take(signal);
      hasSlot = true;
      const node = { id: "0", depth: 0, task, context, schema: undefined, signal };
      const { text, evidence } = await runNode(tree, node, (last) => {
        draft = last;
      });
      return { answer: { text, evidence, isPartial: false }, failure: undefined };
    } catch (thrown) {
      // An interrupted call may fail in any way; the reason of the signal is the true one.
      const failure = toLlmcError(deadline.signal.aborted ? deadline.signal.reason : thrown);
      if (!hasSlot && failure.code === "timeout")
        return { answer: undefined, failure: neverStarted(limits.timeoutMs) };
      const isPartial = request.allowPartial && PARTIAL_CODES.has(failure.code);
      return { answer: isPartial ? draftOf(draft) : undefined, failure };
    } finally {
      deadline.end();
    }
  };
  const outcome = await finish();
  // What a program asked for and did not wait for has been sent, and is paid for.
  await tree.settle();
  if (hasSlot) parts.slots.give();
  return {
    ...outcome,
    spending: tree.budget.spending(),
    counts: tree.counts,
    trajectory: trace.trajectory(),
    nodes: trace.nodes,
  };
};
