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
import { waitFor } from "./wait-for.ts";

/**
 * The vectors of a model, which is slow: the terms of files are indexed at once, and their vectors follow. Stored vectors are
 * reused; missing ones are computed from the files and their known chunks, without parsing.
 */
export interface ModelVectors {
  /** The embedder; refuses, with what is missing, where it cannot be had. */
  open(): Promise<AsyncEmbedder>;
  embedQuery(text: string, signal: AbortSignal | undefined): Promise<Int8Array>;
  /** Makes all that is missing after a work that brings files in, for whoever asked for both. */
  fillAfter<T>(
    work: () => Promise<T>,
    signal: AbortSignal | undefined,
    onProgress?: (progress: IndexProgress) => void,
  ): Promise<T>;
  /** Makes what is missing, as far as that takes no longer than a caller waits; the rest goes on behind. */
  catchUp(signal: AbortSignal | undefined): Promise<void>;
  /** Files that wait for theirs. */
  missing(): number;
  close(): Promise<void>;
}

export interface ModelVectorsParts {
  readonly model: EmbeddingModel;
  readonly loaded: LoadedIndex;
  readonly vectors: VectorStore;
  readonly indexer: FileIndexer;
  readonly settings: () => IndexSettings;
  /** Undefined where the index is not kept on the disk, and nobody shares it. */
  readonly lease: () => BuildLease | undefined;
  readonly onWarning: (message: string) => void;
}

/** What a caller waits for vectors that are being made. */
const WAIT_MS = 5000;
/** Vectors that are stored at once: a second or two of work, which is all that a kill costs. */
const KEPT_AT_ONCE = 64;
/** Fewer files than this are not worth asking other processes for. */
const FEW_FILES = 8;
/** Changes come in groups. */
const QUIET_MS = 200;
/** Looking through thousands of files for what another process has made takes a tenth of a second. */
const ADOPT_EVERY_MS = 2000;

const joined = (vectors: readonly Int8Array[], dimensions: number): Uint8Array => {
  const all = new Int8Array(vectors.length * dimensions);
  vectors.forEach((vector, at) => {
    all.set(vector, at * dimensions);
  });
  return new Uint8Array(all.buffer);
};

const parted = (data: Uint8Array, dimensions: number): readonly Int8Array[] =>
  Array.from(
    { length: data.byteLength / dimensions },
    (_, at) => new Int8Array(data.buffer, data.byteOffset + at * dimensions, dimensions),
  );

const firstWithout = (paths: ReadonlySet<string>, passed: ReadonlySet<string>): string | undefined => {
  for (const path of paths) if (!passed.has(path)) return path;
  return undefined;
};

export const createModelVectors = (parts: ModelVectorsParts): ModelVectors => {
  const { model, loaded, vectors, indexer, settings, onWarning } = parts;
  let embedder: AsyncEmbedder | undefined;
  let opening: Promise<AsyncEmbedder> | undefined;
  let quiet: NodeJS.Timeout | undefined;
  let isClosed = false;
  let fillings = 0;

  const begin = async (): Promise<AsyncEmbedder> => {
    const opened = await model.open();
    if (opened.id !== embedder?.id) {
      vectors.keepOnly(opened.id);
      loaded.startVectors(opened.dimensions);
    }
    embedder = opened;
    return opened;
  };

  const open = (): Promise<AsyncEmbedder> => {
    opening ??= begin().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };

  /** After a failure: the model may be another one by then. */
  const reopen = (): Promise<AsyncEmbedder> => {
    opening = undefined;
    return open();
  };

  const embedFile = createFileEmbedder({ loaded, indexer, settings, reopen });

  /** Takes over what is stored already, by us or by others. */
  const adopt = ({ id, dimensions }: AsyncEmbedder): void =>
    vectors.read((get) => {
      for (const path of [...loaded.unembedded]) {
        const file = loaded.files.get(path);
        const data = file === undefined ? undefined : get(id, path, layoutOf(loaded, file));
        if (file !== undefined && data?.byteLength === file.chunkIds.length * dimensions)
          loaded.setVectors(path, file.chunkIds, parted(data, dimensions));
      }
    });

  const makeAll = async (
    opened: AsyncEmbedder,
    signal: AbortSignal,
    tell: (progress: IndexProgress) => void,
  ): Promise<number> => {
    const passed = new Set<string>();
    let rows: VectorRow[] = [];
    let made = 0;
    const keep = (): void => {
      if (rows.length > 0) vectors.put(opened.id, rows);
      rows = [];
    };
    const makeOne = async (path: string): Promise<void> => {
      const file = loaded.files.get(path);
      if (file === undefined) return;
      const layout = layoutOf(loaded, file);
      const found = await embedFile(opened, path, file, signal);
      if (found === "changed" || embedder?.id !== opened.id) return;
      if (found === "failed") {
        onWarning("the embedding model fails on a file, which is found by its terms only");
        loaded.setVectors(path, file.chunkIds, []);
        return;
      }
      loaded.setVectors(path, file.chunkIds, found);
      rows.push({ path, layout, data: joined(found, opened.dimensions) });
      made++;
    };
    try {
      for (;;) {
        const path = firstWithout(loaded.unembedded, passed);
        if (path === undefined) return made;
        passed.add(path);
        const total = loaded.files.size;
        tell({ phase: "embed", done: total - loaded.unembedded.size, total });
        await makeOne(path);
        stopIfAborted(signal);
        const bytes = rows.reduce((sum, { data }) => sum + data.byteLength, 0);
        if (bytes >= KEPT_AT_ONCE * opened.dimensions) keep();
      }
    } finally {
      keep();
    }
  };

  const runs = createSharedRuns<number>(
    async (_force, signal, tell) => {
      const opened = await open();
      adopt(opened);
      if (loaded.unembedded.size === 0) return 0;
      const lease = loaded.unembedded.size > FEW_FILES ? parts.lease() : undefined;
      if (lease === undefined) return makeAll(opened, signal, tell);
      let adoptedMs = performance.now();
      const onWait = (): void => {
        if (performance.now() - adoptedMs > ADOPT_EVERY_MS) {
          loaded.sync();
          adopt(opened);
          adoptedMs = performance.now();
        }
        tell({ phase: "wait", done: loaded.files.size - loaded.unembedded.size, total: 0 });
      };
      const work = (): Promise<number> => {
        adopt(opened);
        return makeAll(opened, signal, tell);
      };
      return lease.hold(work, onWait, signal);
    },
    (error) =>
      onWarning(
        `vectors could not be made (${toLlmcError(error).code}); it is tried again at the next question`,
      ),
  );

  // Vectors of an edit are made before anybody asks, once the model is in use at all.
  loaded.onChange(() => {
    if (embedder === undefined || isClosed) return;
    clearTimeout(quiet);
    quiet = setTimeout(() => {
      if (!isClosed && fillings === 0 && loaded.unembedded.size > 0) runs.startInBackground();
    }, QUIET_MS);
    quiet.unref();
  });

  const embedQuery = async (text: string): Promise<Int8Array> => {
    const opened = await open();
    try {
      return await opened.embedQuery(text);
    } catch (error) {
      opening = undefined;
      throw error;
    }
  };

  return {
    open,
    embedQuery: async (text, signal) => {
      const vector = await waitFor(embedQuery(text), signal);
      if (vector === undefined) throw new Error("a question without a limit ended without a vector");
      return vector;
    },
    fillAfter: async (work, signal, onProgress) => {
      fillings++;
      try {
        const done = await work();
        // A run that is on may have passed over what came after it.
        for (let round = 0; round < 2 && loaded.unembedded.size > 0; round++)
          await runs.join(false, signal, onProgress);
        return done;
      } finally {
        fillings--;
        // Whoever gave up does not want it to be done behind.
        if (signal?.aborted === true) clearTimeout(quiet);
      }
    },
    catchUp: async (signal) => {
      if (loaded.unembedded.size === 0) return;
      runs.startInBackground();
      await runs.waitUntilAge(WAIT_MS, signal);
    },
    missing: () => loaded.unembedded.size,
    close: async () => {
      isClosed = true;
      clearTimeout(quiet);
      const stopped = runs.close();
      await model.close();
      await stopped;
    },
  };
};
