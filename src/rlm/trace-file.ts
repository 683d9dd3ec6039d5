import type { AnalysisEnd } from "./analysis.ts";
import type { AnalysisRequest } from "./contract.ts";

/** Changes whenever a reader would have to. */
export const TRACE_VERSION = 1;

/** A trace as it is kept: JSON that `llmc rlm view` shows. Texts are in it only where they were recorded. */
export const renderTrace = (
  { id, rootModel, subModel, language, limits }: AnalysisRequest,
  { nodes, spending, counts, trajectory, failure, answer }: AnalysisEnd,
): string =>
  `${JSON.stringify({
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
    nodes,
  })}\n`;
