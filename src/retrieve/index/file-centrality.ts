import { outlineSymbols } from "../../symbols/extract/outline-symbols.ts";
import { unpackSymbols } from "../../symbols/extract/pack.ts";
import { createGraph } from "../../symbols/graph.ts";
import type { CurrentLines } from "./current-lines.ts";
import { createGraphConfigs } from "./graph-configs.ts";
import type { LoadedIndex } from "./loaded-index.ts";
import type { Store } from "./store.ts";

export interface FileCentralityParts {
  readonly store: Store;
  readonly loaded: LoadedIndex;
  readonly lines: CurrentLines;
  /** Whether the index is complete; figures of an incomplete one would have to be computed again. */
  readonly isReady: () => boolean;
}

/** The answer that needs the figures goes out first. */
const DELAY_MS = 200;
/** A question that comes meanwhile waits no longer than this. */
const SLICE_MS = 4;
const YIELD_MS = 5;
/** The figures are used until this share of the files, and at least this number of them, has changed. */
const STALE_SHARE = 0.01;
const STALE_FILES = 20;

/**
 * How much of the workspace depends on each file. Computed in the background from the stored symbols, in time slices, once a question needs it. Only the figures are kept, not
 * the graph.
 */
export const createFileCentrality = (parts: FileCentralityParts) => {
  const { store, loaded, lines, isReady } = parts;
  let scores: ReadonlyMap<string, number> | undefined;
  let changes = 0;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isClosed = false;
  let answering = 0;
  loaded.onChange((path) => {
    if (path === undefined) scores = undefined;
    changes++;
  });

  const compute = async (): Promise<void> => {
    const from = changes;
    let sliceEndsMs = performance.now() + SLICE_MS;
    const isDue = (): boolean => performance.now() >= sliceEndsMs;
    /** True where the computation should be abandoned. */
    const pause = async (): Promise<boolean> => {
      do await new Promise((resolve) => setTimeout(resolve, answering > 0 ? YIELD_MS : 0));
      while (answering > 0 && !isClosed);
      sliceEndsMs = performance.now() + SLICE_MS;
      return isClosed || !isReady();
    };
    const configs = createGraphConfigs(loaded, lines);
    await configs.refresh(loaded.files.keys(), undefined);
    if (isClosed) return;
    const graph = createGraph({ readConfig: configs.read });
    for (const path of [...loaded.files.keys()]) {
      if (isDue() && (await pause())) return;
      const found = store.symbolsOf(path);
      if (found !== undefined) graph.put(path, found.language, outlineSymbols(unpackSymbols(found.packed)));
    }
    const steps = graph.centrality();
    for (;;) {
      if (isDue() && (await pause())) return;
      const step = steps.next();
      if (step.done !== true) continue;
      scores = step.value;
      changes -= from;
      return;
    }
  };

  const isStale = (): boolean =>
    scores === undefined || changes > Math.max(STALE_FILES, loaded.files.size * STALE_SHARE);

  const begin = (): void => {
    timer = undefined;
    if (isClosed || !isReady()) return;
    running = compute()
      // The ranking works without these figures; a question that needs a damaged database reports it.
      .catch(() => {})
      .finally(() => {
        running = undefined;
      });
  };

  return {
    /** 0 to 1; 0 while it is not known. Never blocks: the computation starts a moment later, for the next questions. */
    of: (path: string): number => {
      if (!isClosed && isStale() && timer === undefined && running === undefined) {
        timer = setTimeout(begin, DELAY_MS);
        timer.unref();
      }
      return scores?.get(path) ?? 0;
    },
    /** Pauses the computation until this work ends. */
    yieldTo: async <T>(work: () => Promise<T>): Promise<T> => {
      answering++;
      try {
        return await work();
      } finally {
        answering--;
      }
    },
    close: async (): Promise<void> => {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
};
