import type { ChunkIndex } from "../rank/chunk-index.ts";
import { chunksOf, type FileEntry, type StoredChunk } from "./file-entry.ts";
import type { FileResult } from "./file-indexer.ts";
import type { FileRow, Store } from "./store.ts";

export interface LoadedFile extends FileRow {
  readonly chunkIds: readonly number[];
}

/** The index in memory, ready to search, and kept equal to the store. */
export interface LoadedIndex {
  readonly files: ReadonlyMap<string, LoadedFile>;
  readonly chunks: ChunkIndex;
  /** Files whose chunks have no vectors of the model yet. */
  readonly unembedded: ReadonlySet<string>;
  /** Drops all vectors: from now on they are those of a model. */
  startVectors(dimensions: number): void;
  /** One vector per chunk; ignored where the file has other chunks by now. */
  setVectors(path: string, chunkIds: readonly number[], vectors: readonly Int8Array[]): void;
  /** Of a chunk that is only a part of its line. */
  partOf(chunkId: number): StoredChunk["part"];
  /** Loads what other processes have written since. */
  sync(): void;
  /** A logical time, to be taken before files are read. */
  startScan(): number;
  /** Stores results, except for those of a file for which the result of a later scan is stored already. */
  write(results: readonly FileResult[], scanTime: number): void;
  /** Called with every path whose content may have changed; without a path, everything may have changed. */
  onChange(listener: (path: string | undefined) => void): void;
}

export interface LoadedIndexOptions {
  readonly store: Store;
  /** Of the vectors in entries. */
  readonly dimensions: number;
  /** The vectors are those of a model, which are set later; the ones in entries are not used. */
  readonly hasModel?: boolean;
  readonly createChunks: () => ChunkIndex;
}

export const createLoadedIndex = ({
  store,
  dimensions,
  hasModel = false,
  createChunks,
}: LoadedIndexOptions): LoadedIndex => {
  const files = new Map<string, LoadedFile>();
  const parts = new Map<number, StoredChunk["part"]>();
  const writtenAt = new Map<string, number>();
  const listeners: ((path: string | undefined) => void)[] = [];
  const unembedded = new Set<string>();
  let modelDimensions = 0;
  let chunks = createChunks();
  let identity = "";
  let dataVersion = -1;
  let generation = 0;
  let lastId = 0;
  let scans = 0;

  const notify = (path: string | undefined): void => {
    for (const listener of listeners) listener(path);
  };

  const drop = (path: string): void => {
    for (const id of files.get(path)?.chunkIds ?? []) {
      chunks.remove(id);
      parts.delete(id);
    }
    files.delete(path);
    unembedded.delete(path);
  };

  const put = (row: FileRow, entry: Pick<FileEntry, "chunks" | "terms" | "vectors"> | undefined): void => {
    drop(row.path);
    const { path, language } = row;
    const chunkIds = (entry === undefined ? [] : chunksOf(entry, dimensions)).map(({ part, ...chunk }) => {
      const id = ++lastId;
      if (part !== undefined) parts.set(id, part);
      chunks.add(
        hasModel ? { ...chunk, vector: undefined, id, path, language } : { ...chunk, id, path, language },
      );
      return id;
    });
    if (hasModel && chunkIds.length > 0) unembedded.add(path);
    files.set(path, { ...row, chunkIds });
  };

  const reset = (): void => {
    files.clear();
    parts.clear();
    writtenAt.clear();
    unembedded.clear();
    chunks = createChunks();
    if (hasModel) chunks.startVectors(modelDimensions);
    generation = 0;
    notify(undefined);
  };

  const load = (): void => {
    const isUpdate = generation > 0;
    const now = store.since(
      generation,
      (path) => {
        drop(path);
        if (isUpdate) notify(path);
      },
      (row, entry) => {
        put(row, entry);
        if (isUpdate) notify(row.path);
      },
    );
    if (now !== undefined) {
      generation = now;
      return;
    }
    reset();
    load();
  };

  return {
    files,
    get chunks() {
      return chunks;
    },
    unembedded,
    startVectors: (length) => {
      modelDimensions = length;
      chunks.startVectors(length);
      for (const [path, { chunkIds }] of files) if (chunkIds.length > 0) unembedded.add(path);
    },
    setVectors: (path, chunkIds, vectors) => {
      if (files.get(path)?.chunkIds !== chunkIds) return;
      chunkIds.forEach((id, at) => {
        const vector = vectors[at];
        if (vector !== undefined) chunks.setVector(id, vector);
      });
      unembedded.delete(path);
    },
    partOf: (id) => parts.get(id),
    onChange: (listener) => void listeners.push(listener),
    startScan: () => ++scans,

    sync: () => {
      const identityNow = store.db.identity();
      const versionNow = store.db.dataVersion();
      if (identityNow === identity && versionNow === dataVersion) return;
      if (identityNow !== identity) reset();
      load();
      identity = identityNow;
      dataVersion = versionNow;
    },

    write: (results, scanTime) => {
      const current = results.filter(({ path }) => (writtenAt.get(path) ?? 0) <= scanTime);
      if (current.length === 0) return;
      const { generation: now, written } = store.write(current);
      // Another process has written in between: its changes are still to be loaded.
      if (now <= generation + 1) generation = now;
      else dataVersion = -1;
      for (const one of written) {
        const path = one.kind === "put" ? one.row.path : one.path;
        writtenAt.set(path, scanTime);
        if (one.kind === "put") put(one.row, one.entry);
        else if (one.kind === "removed") drop(path);
        else {
          const known = files.get(path);
          if (known !== undefined) files.set(path, { ...known, stamp: one.stamp });
        }
        if (one.kind !== "stamp") notify(path);
      }
    },
  };
};
