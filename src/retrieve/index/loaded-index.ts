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
  /** Files that are there, and that the operating system does not let us read. */
  readonly unreadable: ReadonlySet<string>;
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

/** What is in memory, in one record that the functions below work on. */
interface State extends LoadedIndexOptions {
  readonly files: Map<string, LoadedFile>;
  readonly parts: Map<number, StoredChunk["part"]>;
  /** The scan time of the last write of each path. */
  readonly writtenAt: Map<string, number>;
  readonly listeners: ((path: string | undefined) => void)[];
  readonly unembedded: Set<string>;
  readonly unreadable: Set<string>;
  modelDimensions: number;
  chunks: ChunkIndex;
  identity: string;
  dataVersion: number;
  generation: number;
  lastId: number;
  scans: number;
}

const notify = ({ listeners }: State, path: string | undefined): void => {
  for (const listener of listeners) listener(path);
};

const drop = ({ files, chunks, parts, unembedded, unreadable }: State, path: string): void => {
  for (const id of files.get(path)?.chunkIds ?? []) {
    chunks.remove(id);
    parts.delete(id);
  }
  files.delete(path);
  unembedded.delete(path);
  unreadable.delete(path);
};

const put = (
  state: State,
  row: FileRow,
  entry: Pick<FileEntry, "chunks" | "terms" | "vectors"> | undefined,
): void => {
  const { files, chunks, parts, unembedded, dimensions, hasModel = false } = state;
  drop(state, row.path);
  const { path, language } = row;
  const chunkIds = (entry === undefined ? [] : chunksOf(entry, dimensions)).map(({ part, ...chunk }) => {
    const id = ++state.lastId;
    if (part !== undefined) parts.set(id, part);
    const vector = hasModel ? undefined : chunk.vector;
    chunks.add({ ...chunk, vector, id, path, language });
    return id;
  });
  if (hasModel && chunkIds.length > 0) unembedded.add(path);
  if (row.state === "unreadable") state.unreadable.add(path);
  files.set(path, { ...row, chunkIds });
};

const reset = (state: State): void => {
  state.files.clear();
  state.parts.clear();
  state.writtenAt.clear();
  state.unembedded.clear();
  state.unreadable.clear();
  state.chunks = state.createChunks();
  if (state.hasModel === true) state.chunks.startVectors(state.modelDimensions);
  state.generation = 0;
  notify(state, undefined);
};

/** Loads what was written since the generation that is in memory, or everything. */
const load = (state: State): void => {
  const isUpdate = state.generation > 0;
  const generation = state.store.since(
    state.generation,
    (path) => {
      drop(state, path);
      if (isUpdate) notify(state, path);
    },
    (row, entry) => {
      put(state, row, entry);
      if (isUpdate) notify(state, row.path);
    },
  );
  if (generation !== undefined) {
    state.generation = generation;
    return;
  }
  reset(state);
  load(state);
};

const sync = (state: State): void => {
  const identity = state.store.db.identity();
  const dataVersion = state.store.db.dataVersion();
  if (identity === state.identity && dataVersion === state.dataVersion) return;
  if (identity !== state.identity) reset(state);
  load(state);
  state.identity = identity;
  state.dataVersion = dataVersion;
};

const write = (state: State, results: readonly FileResult[], scanTime: number): void => {
  const { files, writtenAt, store } = state;
  const current = results.filter(({ path }) => (writtenAt.get(path) ?? 0) <= scanTime);
  if (current.length === 0) return;
  const { generation, written } = store.write(current);
  // Another process has written in between: its changes are still to be loaded.
  if (generation <= state.generation + 1) state.generation = generation;
  else state.dataVersion = -1;
  for (const one of written) {
    const path = one.kind === "put" ? one.row.path : one.path;
    writtenAt.set(path, scanTime);
    if (one.kind === "put") put(state, one.row, one.entry);
    else if (one.kind === "removed") drop(state, path);
    else {
      const known = files.get(path);
      if (known !== undefined) files.set(path, { ...known, stamp: one.stamp });
    }
    if (one.kind !== "stamp") notify(state, path);
  }
};

export const createLoadedIndex = (options: LoadedIndexOptions): LoadedIndex => {
  const state: State = {
    ...options,
    files: new Map(),
    parts: new Map(),
    writtenAt: new Map(),
    listeners: [],
    unembedded: new Set(),
    unreadable: new Set(),
    modelDimensions: 0,
    chunks: options.createChunks(),
    identity: "",
    dataVersion: -1,
    generation: 0,
    lastId: 0,
    scans: 0,
  };
  const { files, parts, unembedded, unreadable } = state;
  return {
    files,
    get chunks() {
      return state.chunks;
    },
    unembedded,
    unreadable,
    startVectors: (length) => {
      state.modelDimensions = length;
      state.chunks.startVectors(length);
      for (const [path, { chunkIds }] of files) if (chunkIds.length > 0) unembedded.add(path);
    },
    setVectors: (path, chunkIds, vectors) => {
      if (files.get(path)?.chunkIds !== chunkIds) return;
      chunkIds.forEach((id, at) => {
        const vector = vectors[at];
        if (vector !== undefined) state.chunks.setVector(id, vector);
      });
      unembedded.delete(path);
    },
    partOf: (id) => parts.get(id),
    onChange: (listener) => void state.listeners.push(listener),
    startScan: () => ++state.scans,
    sync: () => sync(state),
    write: (results, scanTime) => write(state, results, scanTime),
  };
};
