import type { Retrieval, SearchAnswer } from "./engine.ts";
import type { IndexState } from "./index/index-status.ts";
import { notesOnState } from "./index/state-notes.ts";
import { msLeft, waitFor } from "./index/wait-for.ts";

/** Of the time until a deadline, what it takes to hand an answer over. */
const HAND_OVER_SHARE = 0.1;
const MAX_HAND_OVER_MS = 500;

/**
 * A search that answers before its deadline in any case. The engine itself stops waiting for the index in time, but while
 * its thread starts, or loads models and grammars, it cannot answer at all: then the answer is that nothing is indexed yet.
 */
export const searchInTime: (engine: Pick<Retrieval, "search">) => Retrieval["search"] =
  (engine) => async (request, signal, onProgress) => {
    const left = msLeft(signal);
    if (left === Number.POSITIVE_INFINITY) return engine.search(request, signal, onProgress);
    let index: IndexState = { state: "building", done: 0, total: 0 };
    const searching = engine.search(request, signal, (progress) => {
      index = { state: "building", done: progress.done, total: progress.total };
      onProgress?.(progress);
    });
    // After the time is up, nobody waits for it.
    searching.catch(() => {});
    const answer = await waitFor(
      searching,
      signal,
      left - Math.min(MAX_HAND_OVER_MS, HAND_OVER_SHARE * left),
    );
    const empty: SearchAnswer = { value: [], index, notes: notesOnState(index), end: "all" };
    return answer ?? empty;
  };
