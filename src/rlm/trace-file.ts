import type { AnalysisEnd } from "./analysis.ts";
import type { AnalysisRequest } from "./contract.ts";
import type { TracedNode } from "./trace.ts";

/** Changes whenever a reader would have to. */
export const TRACE_VERSION = 1;

function* renderNode({ calls, ...node }: TracedNode): Generator<string> {
  yield `${JSON.stringify(node).slice(0, -1)},"calls":[`;
  for (const [at, call] of calls.entries()) yield `${at === 0 ? "" : ","}${JSON.stringify(call)}`;
  yield "]}";
}

/**
 * A trace as a file: JSON that `llmc rlm view` shows, in pieces, because all of it may exceed the maximum length of a string.
 * It contains texts only if they were recorded.
 */
export function* renderTrace(
  { id, rootModel, subModel, language, limits }: AnalysisRequest,
  { nodes, spending, counts, trajectory, failure, answer }: AnalysisEnd,
): Generator<string> {
  const head = {
    llmc_trace: TRACE_VERSION,
    session_id: id,
    root_model: rootModel,
    sub_model: subModel,
    language,
    limits,
    outcome: failure?.code ?? "ok",
    is_partial: answer?.isPartial ?? false,
    trajectory,
    spending,
    counts,
  };
  yield `${JSON.stringify(head).slice(0, -1)},"nodes":[`;
  for (const [at, node] of nodes.entries()) {
    if (at > 0) yield ",";
    yield* renderNode(node);
  }
  yield "]}\n";
}
