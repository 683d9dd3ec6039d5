import { type LlmcError, toLlmcError } from "../../base/error.ts";
import type { SourceFiles } from "../../host/search/source-files.ts";
import type { BuildLease } from "./build-lease.ts";
import { createBuildRuns } from "./build-runs.ts";
import type { IndexProgress, IndexReport, IndexState } from "./index-status.ts";
import type { LoadedIndex } from "./loaded-index.ts";
import type { Look, Looker, Wanted } from "./look.ts";
import type { LookMany } from "./look-many.ts";
import { planScan } from "./scan.ts";
import { type IndexSettings, reachOf } from "./settings.ts";
import type { Store } from "./store.ts";
import { createWatchedTree, type WatchedTree } from "./watched-tree.ts";
import { whileWaiting } from "./while-waiting.ts";

/** Keeps the index equal to the files on the disk. */
export interface Keeper {
  build(
    force: boolean,
    signal: AbortSignal | undefined,
    onProgress?: (progress: IndexProgress) => void,
  ): Promise<IndexReport>;
  /** Brings the index up to date before a question is answered, as far as that takes no longer than a caller waits. */
  catchUp(signal: AbortSignal | undefined): Promise<void>;
  /** Looks at single files now: true where something of them had changed. */
  refresh(paths: readonly string[], signal: AbortSignal | undefined): Promise<boolean>;
  state(): IndexState;
  isWatching(): boolean;
  close(): Promise<void>;
}

export interface KeeperParts {
  readonly workspace: string;
  readonly settings: () => IndexSettings;
  readonly store: Store;
  readonly loaded: LoadedIndex;
  readonly looker: Looker;
  readonly lookMany: LookMany;
  readonly lease: BuildLease;
  readonly onWarning: (message: string) => void;
}

/** What a caller waits for an index that is being made; then the answer says how far it is. */
const WAIT_MS = 5000;
/** Where a watch does not see everything, the files are looked at before a question, but not before each of a series. */
const POLL_MS = 1000;
/** With one, everything is looked at now and then all the same: the kernel drops events when there are too many. */
const RESCAN_MS = 60_000;
/** Removals of one transaction. */
const REMOVE_AT_ONCE = 500;
/** A directory that is made while the files are listed is found by listing once more. */
const MAX_LISTINGS = 3;

const addUp = (first: IndexReport, second: IndexReport): IndexReport => ({
  ...second,
  added: first.added + second.added,
  changed: first.changed + second.changed,
  removed: first.removed + second.removed,
  readBytes: first.readBytes + second.readBytes,
  tookMs: first.tookMs + second.tookMs,
});

export const createKeeper = (parts: KeeperParts): Keeper => {
  const { workspace, settings, store, loaded, looker, lookMany, lease, onWarning } = parts;
  let scanned: { readonly reach: string; readonly beganMs: number; readonly atMs: number } | undefined;
  let watched: WatchedTree | undefined;
  // A scan has begun, and forgotten what the watch told before, but has not come to its end.
  let isBehind = false;
  let newsTaken: Promise<void> = Promise.resolve();
  let isClosed = false;
  /** Of the last run, if it failed. */
  let failure: LlmcError | undefined;

  // Another database is an empty one.
  loaded.onChange((path) => {
    if (path === undefined) scanned = undefined;
  });

  const source = (): SourceFiles => looker.files(settings());

  /** Lists, and listens to all directories of the list before anything of it is read. */
  const listAndFollow = async (signal: AbortSignal) => {
    if (settings().watch) watched ??= createWatchedTree(workspace, onNews);
    else {
      watched?.close();
      watched = undefined;
    }
    for (let listings = 1; ; listings++) {
      watched?.forget();
      const listing = await source().list(signal);
      const files = new Map(listing.files.map((file) => [file.path, file]));
      const isNew = watched?.followAll(files) ?? false;
      if (!isNew || listings === MAX_LISTINGS) return listing;
    }
  };

  const scan = async (
    force: boolean,
    signal: AbortSignal,
    tell: (progress: IndexProgress) => void,
  ): Promise<IndexReport> => {
    const startedMs = performance.now();
    const reach = reachOf(settings());
    isBehind = true;
    loaded.sync();
    tell({ phase: "list", done: 0, total: 0 });
    const lookBegan = loaded.beginLook();
    const listing = await listAndFollow(signal);
    const plan = planScan(listing, loaded.files, { maxFileBytes: settings().maxFileBytes, force });
    for (let at = 0; at < plan.removed.length; at += REMOVE_AT_ONCE)
      loaded.write(
        plan.removed.slice(at, at + REMOVE_AT_ONCE).map((path) => ({ path, kind: "none" })),
        lookBegan,
      );
    const count = { done: listing.files.length - plan.wanted.length, added: 0, changed: 0, readBytes: 0 };
    const take = (looks: readonly Look[]): void => {
      for (const { kind, path } of looks)
        if (kind === "read") count[loaded.files.has(path) ? "changed" : "added"]++;
      for (const look of looks)
        if (look.kind === "read" || look.kind === "same") count.readBytes += look.size;
      loaded.write(looks, lookBegan);
      count.done += looks.length;
      tell({ phase: "index", done: count.done, total: listing.files.length });
    };
    tell({ phase: "index", done: count.done, total: listing.files.length });
    await lookMany.run(plan.wanted, settings(), take, signal);
    isBehind = false;
    failure = undefined;
    scanned = { reach, beganMs: startedMs, atMs: performance.now() };
    // What happened meanwhile was not taken.
    setTimeout(onNews, 0).unref();
    store.setScanned(Date.now());
    if (listing.isCut) onWarning("the workspace has more files than an index takes; some are left out");
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

  const runs = createBuildRuns(
    (force, signal, tell) => {
      const work = () => scan(force, signal, tell);
      const onWait = (): void => {
        loaded.sync();
        tell({ phase: "wait", done: loaded.files.size, total: 0 });
      };
      return store.db.isKept() ? lease.hold(work, onWait, signal) : work();
    },
    (error) => {
      failure = toLlmcError(error);
      onWarning(`indexing failed (${failure.code}); it is tried again at the next question`);
    },
  );

  const lookAt = async (wanted: readonly Wanted[], signal: AbortSignal | undefined): Promise<boolean> => {
    const lookBegan = loaded.beginLook();
    const looks: Look[] = [];
    for (const one of wanted) looks.push(await looker.look(one, settings(), signal));
    loaded.write(looks, lookBegan);
    return looks.some(({ kind }) => kind !== "same");
  };

  const lookAtNews = async (tree: WatchedTree): Promise<void> => {
    const news = await tree.take(loaded.files, source());
    if (news === "everything") runs.startForNobody();
    else if (news.wanted.length > 0) {
      const lookBegan = loaded.beginLook();
      const take = (looks: readonly Look[]): void => loaded.write(looks, lookBegan);
      await lookMany.run(news.wanted, settings(), take, undefined);
      // What was made in new directories before anybody listened there is found by looking.
      if (tree.follow(loaded.files)) runs.startForNobody();
    }
  };

  /**
   * Brings in what the watch has told so far. One at a time: what another call has taken from the watch is in the index
   * before this one is done. No caller's signal reaches it, since what was taken would be lost.
   */
  const takeNews = (): Promise<void> => {
    newsTaken = newsTaken
      .then(async () => {
        if (!isClosed && watched !== undefined && runs.current() === undefined) await lookAtNews(watched);
      })
      .catch(() => {
        // It cannot be told any more what was missed.
        scanned = undefined;
      });
    return newsTaken;
  };

  const onNews = (): void => void takeNews();

  const isDue = (calledMs: number): boolean => {
    if (isBehind || scanned === undefined || scanned.reach !== reachOf(settings())) return true;
    if (!settings().watch) return scanned.beganMs < calledMs;
    return watched?.isComplete() !== true && performance.now() - scanned.atMs > POLL_MS;
  };

  return {
    build: async (force, signal, onProgress) => {
      // A run that is on may have listed the files before the caller's last change.
      const before = runs.current() === undefined ? undefined : await runs.join(force, signal, onProgress);
      const after = await runs.join(force && before === undefined, signal, onProgress);
      return before === undefined ? after : addUp(before, after);
    },

    catchUp: async (signal) => {
      const calledMs = performance.now();
      loaded.sync();
      // Twice, where the run that was on is given up by those who asked for it.
      for (let attempt = 0; attempt < 2 && isDue(calledMs); attempt++) {
        runs.startForNobody();
        await runs.waitUntilAge(WAIT_MS, signal);
      }
      // Without any index, an answer would look as if there were nothing to find.
      if (
        failure !== undefined &&
        scanned === undefined &&
        loaded.files.size === 0 &&
        runs.current() === undefined
      )
        throw failure;
      if (watched === undefined || runs.current() !== undefined) return;
      await whileWaiting(takeNews(), signal);
      if (runs.current() !== undefined) await runs.waitUntilAge(WAIT_MS, signal);
      else if (scanned === undefined || performance.now() - scanned.atMs > RESCAN_MS) runs.startForNobody();
    },

    refresh: (paths, signal) =>
      lookAt(
        paths.map((path) => ({ path, hash: loaded.files.get(path)?.hash || undefined })),
        signal,
      ),

    state: () => {
      const progress = runs.current();
      if (scanned !== undefined && progress?.phase !== "index")
        return { state: "ready", done: loaded.files.size, total: loaded.files.size };
      return { state: "building", done: progress?.done ?? loaded.files.size, total: progress?.total ?? 0 };
    },
    isWatching: () => watched?.isComplete() ?? false,
    close: async () => {
      isClosed = true;
      watched?.close();
      await runs.close();
      await newsTaken;
    },
  };
};
