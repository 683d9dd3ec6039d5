import { type LlmcError, toLlmcError } from "../../base/error.ts";
import { addUnread, createUnread, NOTHING_UNREAD, type Unread } from "../../host/read/unread.ts";
import type { Listing, SourceFiles } from "../../host/search/source-files.ts";
import type { BatchIndexer } from "./batch-indexer.ts";
import type { BuildLease } from "./build-lease.ts";
import type { FileIndexer, FileResult } from "./file-indexer.ts";
import { addReports, type IndexProgress, type IndexReport, type IndexState } from "./index-status.ts";
import type { LoadedIndex } from "./loaded-index.ts";
import { planScan } from "./scan.ts";
import { type IndexSettings, reachOf } from "./settings.ts";
import { createSharedRuns, type SharedRuns } from "./shared-runs.ts";
import type { Store } from "./store.ts";
import { startWaiting, waitFor } from "./wait-for.ts";
import { createWatchedTree, type WatchedTree } from "./watched-tree.ts";

export interface IndexerParts {
  readonly workspace: string;
  readonly settings: () => IndexSettings;
  readonly store: Store;
  readonly loaded: LoadedIndex;
  readonly files: FileIndexer;
  readonly batches: BatchIndexer;
  readonly lease: BuildLease;
  readonly onWarning: (message: string) => void;
}

/** How long a caller waits for an index that is being built, unless the settings say; then the answer says how far it is. */
const WAIT_MS = 5000;
/** Where a watch does not see everything, the files are scanned before a question, but not before each of a series. */
const POLL_MS = 1000;
/** Even with a watch, everything is scanned now and then: the kernel drops events when there are too many. */
const RESCAN_MS = 60_000;
const REMOVALS_PER_WRITE = 500;
/** A directory that is created while the files are listed is found by listing once more. */
const MAX_LISTINGS = 3;

/** What an indexer knows, in one record that the functions below work on. */
interface Indexing extends IndexerParts {
  /** The last complete scan. */
  scanned: { readonly reach: string; readonly beganMs: number; readonly endedMs: number } | undefined;
  /** Directories that the last scan could not list. */
  unlisted: Unread;
  watched: WatchedTree | undefined;
  /** A scan has dropped the events of the watch before it, and has not ended yet. */
  isBehind: boolean;
  /** Settles when all changes that were taken from the watch are in the index. */
  changesApplied: Promise<void>;
  isClosed: boolean;
  /** Of the last run, if it failed. */
  failure: LlmcError | undefined;
  readonly runs: SharedRuns;
}

const sourceOf = ({ files, settings }: IndexerParts): SourceFiles => files.files(settings());

/** Lists the files, and watches all of their directories before any of them is read. */
const listAndWatch = async (state: Indexing, signal: AbortSignal): Promise<Listing> => {
  if (state.settings().watch)
    state.watched ??= createWatchedTree(state.workspace, () => void applyChanges(state));
  else {
    state.watched?.close();
    state.watched = undefined;
  }
  for (let listings = 1; ; listings++) {
    state.watched?.dropEvents();
    const listing = await sourceOf(state).list(signal);
    const files = new Map(listing.files.map((file) => [file.path, file]));
    const isNew = state.watched?.followAll(files) ?? false;
    if (!isNew || listings === MAX_LISTINGS) return listing;
  }
};

const removeFiles = ({ loaded }: Indexing, paths: readonly string[], scanTime: number): void => {
  for (let at = 0; at < paths.length; at += REMOVALS_PER_WRITE)
    loaded.write(
      paths.slice(at, at + REMOVALS_PER_WRITE).map((path) => ({ path, kind: "missing" })),
      scanTime,
    );
};

const scan = async (
  state: Indexing,
  force: boolean,
  signal: AbortSignal,
  onProgress: (progress: IndexProgress) => void,
): Promise<IndexReport> => {
  const { loaded, settings } = state;
  const startedMs = performance.now();
  const reach = reachOf(settings());
  state.isBehind = true;
  loaded.sync();
  onProgress({ phase: "list", done: 0, total: 0 });
  const scanTime = loaded.startScan();
  const listing = await listAndWatch(state, signal);
  state.unlisted = listing.unread;
  const total = listing.files.length;
  const plan = planScan(listing, loaded.files, { maxFileBytes: settings().maxFileBytes, force });
  removeFiles(state, plan.removed, scanTime);
  const count = { done: total - plan.requests.length, added: 0, changed: 0, readBytes: 0 };
  const onResults = (results: readonly FileResult[]): void => {
    for (const result of results) {
      if (result.kind === "parsed") count[loaded.files.has(result.path) ? "changed" : "added"]++;
      if (result.kind === "parsed" || result.kind === "unchanged") count.readBytes += result.size;
    }
    loaded.write(results, scanTime);
    count.done += results.length;
    onProgress({ phase: "index", done: count.done, total });
  };
  onProgress({ phase: "index", done: count.done, total });
  await state.batches.run(plan.requests, settings(), onResults, signal);
  state.isBehind = false;
  state.failure = undefined;
  state.scanned = { reach, beganMs: startedMs, endedMs: performance.now() };
  // Changes are not applied while a scan runs.
  setTimeout(() => void applyChanges(state), 0).unref();
  state.store.setScanned(Date.now());
  if (listing.isCut)
    state.onWarning("the workspace has more files than the index can hold; some are left out");
  return {
    files: loaded.files.size,
    chunks: loaded.chunks.size,
    added: count.added,
    changed: count.changed,
    removed: plan.removed.length,
    readBytes: count.readBytes,
    tookMs: performance.now() - startedMs,
  };
};

const indexChanges = async (state: Indexing, tree: WatchedTree): Promise<void> => {
  const { loaded, batches, runs, settings } = state;
  const changes = await tree.takeChanges(loaded.files, sourceOf(state));
  if (changes === "everything") {
    runs.startInBackground();
    return;
  }
  if (changes.requests.length === 0) return;
  const scanTime = loaded.startScan();
  await batches.run(changes.requests, settings(), (results) => loaded.write(results, scanTime), undefined);
  // Files that were created in new directories before these were watched are found by a scan.
  if (tree.follow(loaded.files)) runs.startInBackground();
};

/**
 * Brings in the changes that the watch has seen so far. One call at a time: what another call has taken from the watch is
 * in the index before this one ends. It takes no signal, since changes that were taken would be lost.
 */
const applyChanges = (state: Indexing): Promise<void> => {
  state.changesApplied = state.changesApplied
    .then(async () => {
      const { isClosed, watched, runs } = state;
      if (!isClosed && watched !== undefined && runs.current() === undefined)
        await indexChanges(state, watched);
    })
    .catch(() => {
      // It is unknown which changes were missed.
      state.scanned = undefined;
    });
  return state.changesApplied;
};

const needsScan = ({ isBehind, scanned, settings, watched }: Indexing, calledMs: number): boolean => {
  if (isBehind || scanned === undefined || scanned.reach !== reachOf(settings())) return true;
  if (!settings().watch) return scanned.beganMs < calledMs;
  return watched?.isComplete() !== true && performance.now() - scanned.endedMs > POLL_MS;
};

const catchUp = async (
  state: Indexing,
  signal: AbortSignal | undefined,
  onProgress?: (progress: IndexProgress) => void,
): Promise<void> => {
  const { loaded, runs } = state;
  const calledMs = performance.now();
  const left = startWaiting(state.settings().waitMs ?? WAIT_MS, signal);
  loaded.sync();
  // Twice, in case the participants of the current run abort it.
  for (let attempt = 0; attempt < 2 && needsScan(state, calledMs); attempt++) {
    runs.startInBackground();
    await runs.wait(left(), signal, onProgress);
  }
  const isIdle = runs.current() === undefined;
  // Without any index, an answer would look as if there were nothing to find.
  if (state.failure !== undefined && state.scanned === undefined && loaded.files.size === 0 && isIdle)
    throw state.failure;
  if (state.watched === undefined || !isIdle) return;
  await waitFor(applyChanges(state), signal, left());
  if (runs.current() !== undefined) await runs.wait(Math.min(left(), WAIT_MS), signal);
  else if (state.scanned === undefined || performance.now() - state.scanned.endedMs > RESCAN_MS)
    runs.startInBackground();
};

const refresh = async (
  { loaded, batches, settings }: Indexing,
  paths: readonly string[],
  signal: AbortSignal | undefined,
): Promise<boolean> => {
  const scanTime = loaded.startScan();
  const requests = paths.map((path) => {
    const { hash, size = 0, stamp = "" } = loaded.files.get(path) ?? {};
    return { path, hash: hash || undefined, size, stamp };
  });
  let hasChanged = false;
  const onResults = (results: readonly FileResult[]): void => {
    hasChanged ||= results.some(({ kind }) => kind !== "unchanged");
    loaded.write(results, scanTime);
  };
  await batches.run(requests, settings(), onResults, signal);
  return hasChanged;
};

const createRuns = (parts: IndexerParts, stateOf: () => Indexing): SharedRuns => {
  const { store, loaded, lease, onWarning } = parts;
  return createSharedRuns(
    (force, signal, onProgress) => {
      const work = () => scan(stateOf(), force, signal, onProgress);
      const onWait = (): void => {
        loaded.sync();
        onProgress({ phase: "wait", done: loaded.files.size, total: 0 });
      };
      return store.db.isKept() ? lease.hold(work, onWait, signal) : work();
    },
    (error) => {
      const failure = toLlmcError(error);
      stateOf().failure = failure;
      onWarning(`indexing failed (${failure.code}); the next question tries again`);
    },
  );
};

/** Keeps the index equal to the files on the disk. */
export const createIndexer = (parts: IndexerParts) => {
  const { loaded } = parts;
  const runs = createRuns(parts, () => state);
  const state: Indexing = {
    ...parts,
    scanned: undefined,
    unlisted: NOTHING_UNREAD,
    watched: undefined,
    isBehind: false,
    changesApplied: Promise.resolve(),
    isClosed: false,
    failure: undefined,
    runs,
  };
  // A database that was replaced is empty.
  loaded.onChange((path) => {
    if (path === undefined) state.scanned = undefined;
  });
  return {
    build: async (
      force: boolean,
      signal: AbortSignal | undefined,
      onProgress?: (progress: IndexProgress) => void,
    ): Promise<IndexReport> => {
      // A run that is under way may have listed the files before the caller's last change.
      const before = runs.current() === undefined ? undefined : await runs.join(force, signal, onProgress);
      const after = await runs.join(force && before === undefined, signal, onProgress);
      return before === undefined ? after : addReports(before, after);
    },
    /** Brings the index up to date before a question is answered, within the time that a caller waits. */
    catchUp: (
      signal: AbortSignal | undefined,
      onProgress?: (progress: IndexProgress) => void,
    ): Promise<void> => catchUp(state, signal, onProgress),
    /** Indexes single files now; true where one of them had changed. */
    refresh: (paths: readonly string[], signal: AbortSignal | undefined): Promise<boolean> =>
      refresh(state, paths, signal),
    state: (): IndexState => {
      const progress = runs.current();
      if (state.scanned !== undefined && progress?.phase !== "index")
        return { state: "ready", done: loaded.files.size, total: loaded.files.size };
      return { state: "building", done: progress?.done ?? loaded.files.size, total: progress?.total ?? 0 };
    },
    /** Files, and directories as of the last scan, that are missing because they cannot be read. */
    unread: (): Unread => {
      const files = createUnread();
      for (const path of loaded.unreadable) files.add(path);
      return addUnread(state.unlisted, files.finish());
    },
    isWatching: (): boolean => state.watched?.isComplete() ?? false,
    close: async (): Promise<void> => {
      state.isClosed = true;
      state.watched?.close();
      await runs.close();
      await state.changesApplied;
    },
  };
};

export type Indexer = ReturnType<typeof createIndexer>;
