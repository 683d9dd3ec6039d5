import { toLlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import type { AsyncEmbedder, EmbeddingModel } from "../embed/async-embedder.ts";
import type { BuildLease } from "./build-lease.ts";
import { layoutOf } from "./chunk-texts.ts";
import { createFileEmbedder } from "./embed-file.ts";
import type { FileIndexer } from "./file-indexer.ts";
import type { IndexProgress } from "./index-status.ts";
import type { LoadedIndex } from "./loaded-index.ts";
import type { IndexSettings } from "./settings.ts";
import { createSharedRuns } from "./shared-runs.ts";
import type { VectorRow, VectorStore } from "./vector-store.ts";
import { startWaiting, waitFor } from "./wait-for.ts";

export interface ModelVectorsParts {
  readonly model: EmbeddingModel;
  readonly loaded: LoadedIndex;
  readonly vectors: VectorStore;
  readonly indexer: FileIndexer;
  readonly settings: () => IndexSettings;
  /** Undefined where the index is not kept on the disk, so that no other process shares it. */
  readonly lease: () => BuildLease | undefined;
  readonly onWarning: (message: string) => void;
}

/** How long a caller waits for vectors that are being computed. */
const WAIT_MS = 5000;
/** Vectors per transaction: a second or two of work, which is all that is lost when the process is killed. */
const VECTORS_PER_WRITE = 64;
/** For fewer files than this, other processes are not waited for. */
const FEW_FILES = 8;
/** Changes come in groups. */
const QUIET_MS = 200;
/** Searching thousands of files for the vectors that another process has stored takes a tenth of a second. */
const ADOPT_INTERVAL_MS = 2000;

/** What is known about the model and its vectors, in one record that the functions below work on. */
interface Vectors extends ModelVectorsParts {
  embedder: AsyncEmbedder | undefined;
  opening: Promise<AsyncEmbedder> | undefined;
  quietTimer: NodeJS.Timeout | undefined;
  isClosed: boolean;
  /** Calls of `fillAfter` that are under way. */
  fillings: number;
}

const concatenate = (vectors: readonly Int8Array[], dimensions: number): Uint8Array => {
  const all = new Int8Array(vectors.length * dimensions);
  vectors.forEach((vector, at) => {
    all.set(vector, at * dimensions);
  });
  return new Uint8Array(all.buffer);
};

const split = (data: Uint8Array, dimensions: number): readonly Int8Array[] =>
  Array.from(
    { length: data.byteLength / dimensions },
    (_, at) => new Int8Array(data.buffer, data.byteOffset + at * dimensions, dimensions),
  );

const load = async (state: Vectors): Promise<AsyncEmbedder> => {
  const opened = await state.model.open();
  if (opened.id !== state.embedder?.id) {
    state.vectors.keepOnly(opened.id);
    state.loaded.startVectors(opened.dimensions);
  }
  state.embedder = opened;
  return opened;
};

const open = (state: Vectors): Promise<AsyncEmbedder> => {
  state.opening ??= load(state).catch((error: unknown) => {
    state.opening = undefined;
    throw error;
  });
  return state.opening;
};

/** After a failure: the model may be another one by then. */
const reopen = (state: Vectors): Promise<AsyncEmbedder> => {
  state.opening = undefined;
  return open(state);
};

/** Uses the vectors that are stored already, by this process or by others. */
const adoptStored = ({ loaded, vectors }: Vectors, { id, dimensions }: AsyncEmbedder): void =>
  vectors.read((get) => {
    for (const path of [...loaded.unembedded]) {
      const file = loaded.files.get(path);
      const data = file === undefined ? undefined : get(id, path, layoutOf(loaded, file));
      if (file !== undefined && data?.byteLength === file.chunkIds.length * dimensions)
        loaded.setVectors(path, file.chunkIds, split(data, dimensions));
    }
  });

type EmbedFile = ReturnType<typeof createFileEmbedder>;

/** The row to store, or undefined where the file has none. */
const computeFile = async (
  state: Vectors,
  opened: AsyncEmbedder,
  embedFile: EmbedFile,
  path: string,
  signal: AbortSignal,
): Promise<VectorRow | undefined> => {
  const { loaded, onWarning } = state;
  const file = loaded.files.get(path);
  if (file === undefined) return undefined;
  const layout = layoutOf(loaded, file);
  const found = await embedFile(opened, path, file, signal);
  if (found === "changed" || state.embedder?.id !== opened.id) return undefined;
  if (found === "failed") {
    onWarning("the embedding model fails on a file, which is found by its terms only");
    loaded.setVectors(path, file.chunkIds, []);
    return undefined;
  }
  loaded.setVectors(path, file.chunkIds, found);
  return { path, layout, data: concatenate(found, opened.dimensions) };
};

const firstNotIn = (paths: ReadonlySet<string>, passed: ReadonlySet<string>): string | undefined => {
  for (const path of paths) if (!passed.has(path)) return path;
  return undefined;
};

const computeAll = async (
  state: Vectors,
  opened: AsyncEmbedder,
  signal: AbortSignal,
  onProgress: (progress: IndexProgress) => void,
): Promise<number> => {
  const { loaded, vectors, indexer, settings } = state;
  const embedFile = createFileEmbedder({ loaded, indexer, settings, reopen: () => reopen(state) });
  const passed = new Set<string>();
  let rows: VectorRow[] = [];
  let computed = 0;
  const write = (): void => {
    if (rows.length > 0) vectors.put(opened.id, rows);
    rows = [];
  };
  try {
    for (;;) {
      const path = firstNotIn(loaded.unembedded, passed);
      if (path === undefined) return computed;
      passed.add(path);
      const total = loaded.files.size;
      onProgress({ phase: "embed", done: total - loaded.unembedded.size, total });
      const row = await computeFile(state, opened, embedFile, path, signal);
      if (row !== undefined) {
        rows.push(row);
        computed++;
      }
      stopIfAborted(signal);
      const bytes = rows.reduce((sum, { data }) => sum + data.byteLength, 0);
      if (bytes >= VECTORS_PER_WRITE * opened.dimensions) write();
    }
  } finally {
    write();
  }
};

const fillMissing = async (
  state: Vectors,
  signal: AbortSignal,
  onProgress: (progress: IndexProgress) => void,
): Promise<number> => {
  const { loaded } = state;
  const opened = await open(state);
  adoptStored(state, opened);
  if (loaded.unembedded.size === 0) return 0;
  const lease = loaded.unembedded.size > FEW_FILES ? state.lease() : undefined;
  if (lease === undefined) return computeAll(state, opened, signal, onProgress);
  let adoptedMs = performance.now();
  const onWait = (): void => {
    if (performance.now() - adoptedMs > ADOPT_INTERVAL_MS) {
      loaded.sync();
      adoptStored(state, opened);
      adoptedMs = performance.now();
    }
    onProgress({ phase: "wait", done: loaded.files.size - loaded.unembedded.size, total: 0 });
  };
  const work = (): Promise<number> => {
    adoptStored(state, opened);
    return computeAll(state, opened, signal, onProgress);
  };
  return lease.hold(work, onWait, signal);
};

const embedQuery = async (state: Vectors, text: string): Promise<Int8Array> => {
  const opened = await open(state);
  try {
    return await opened.embedQuery(text);
  } catch (error) {
    state.opening = undefined;
    throw error;
  }
};

/**
 * The vectors of a model, which is slow: the terms of files are indexed at once, and their vectors follow. Stored vectors are
 * reused; missing ones are computed from the files and their known chunks, without parsing.
 */
export const createModelVectors = (parts: ModelVectorsParts) => {
  const { model, loaded, onWarning } = parts;
  const state: Vectors = {
    ...parts,
    embedder: undefined,
    opening: undefined,
    quietTimer: undefined,
    isClosed: false,
    fillings: 0,
  };
  const runs = createSharedRuns<number>(
    (_force, signal, onProgress) => fillMissing(state, signal, onProgress),
    (error) =>
      onWarning(`vectors could not be computed (${toLlmcError(error).code}); the next question tries again`),
  );
  // Once the model is in use, the vectors of an edited file are computed before anybody asks.
  loaded.onChange(() => {
    if (state.embedder === undefined || state.isClosed) return;
    clearTimeout(state.quietTimer);
    state.quietTimer = setTimeout(() => {
      if (!state.isClosed && state.fillings === 0 && loaded.unembedded.size > 0) runs.startInBackground();
    }, QUIET_MS);
    state.quietTimer.unref();
  });
  return {
    /** Opens the embedder; rejects, with what is missing, where it cannot be loaded. */
    open: (): Promise<AsyncEmbedder> => open(state),
    embedQuery: async (text: string, signal: AbortSignal | undefined): Promise<Int8Array> => {
      const vector = await waitFor(embedQuery(state, text), signal);
      if (vector === undefined) throw new Error("a question without a time limit ended without a vector");
      return vector;
    },
    /** Does work that brings files in, and then computes all missing vectors, for a caller who asked for both. */
    fillAfter: async <T>(
      work: () => Promise<T>,
      signal: AbortSignal | undefined,
      onProgress?: (progress: IndexProgress) => void,
    ): Promise<T> => {
      state.fillings++;
      try {
        const done = await work();
        // A run that is under way may have passed over files that came later.
        for (let round = 0; round < 2 && loaded.unembedded.size > 0; round++)
          await runs.join(false, signal, onProgress);
        return done;
      } finally {
        state.fillings--;
        // A caller who aborted does not want the work to go on in the background.
        if (signal?.aborted === true) clearTimeout(state.quietTimer);
      }
    },
    /** Computes missing vectors within the time that a caller waits; the rest follows in the background. */
    catchUp: async (signal: AbortSignal | undefined): Promise<void> => {
      if (loaded.unembedded.size === 0) return;
      runs.startInBackground();
      await runs.wait(startWaiting(WAIT_MS, signal)(), signal);
    },
    /** How many files have no vectors yet. */
    missing: (): number => loaded.unembedded.size,
    close: async (): Promise<void> => {
      state.isClosed = true;
      clearTimeout(state.quietTimer);
      const stopped = runs.close();
      await model.close();
      await stopped;
    },
  };
};

export type ModelVectors = ReturnType<typeof createModelVectors>;
