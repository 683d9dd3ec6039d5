import type { SourceFiles } from "../../host/source-files.ts";
import type { IndexProgress, IndexReport, IndexState } from "../engine.ts";
import type { BuildLease } from "./build-lease.ts";
import { createBuildRuns } from "./build-runs.ts";
import type { LoadedIndex } from "./loaded-index.ts";
import type { Look, Looker, Wanted } from "./look.ts";
import type { ListedWanted, LookMany } from "./look-many.ts";
import { planScan } from "./scan.ts";
import { type IndexSettings, reachOf } from "./settings.ts";
import type { Store } from "./store.ts";
import { createWatchedTree, type WatchedTree } from "./watched-tree.ts";

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

export const createKeeper = (parts: KeeperParts): Keeper => {
  const { workspace, settings, store, loaded, looker, lookMany, lease, onWarning } = parts;
  let scanned: { readonly reach: string; readonly atMs: number } | undefined;
  let watched: WatchedTree | undefined;
  let isClosed = false;

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
      const isNew = watched?.follow(files) ?? false;
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
    scanned = { reach, atMs: performance.now() };
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
    () => onWarning("indexing failed; it is tried again at the next question"),
  );

  const lookAt = async (wanted: readonly Wanted[], signal: AbortSignal | undefined): Promise<boolean> => {
    const lookBegan = loaded.beginLook();
    const looks: Look[] = [];
    for (const one of wanted) looks.push(await looker.look(one, settings(), signal));
    loaded.write(looks, lookBegan);
    return looks.some(({ kind }) => kind !== "same");
  };

  /** What the watch has told; true where all of it is in the index now. */
  const takeNews = async (tree: WatchedTree, signal: AbortSignal | undefined): Promise<boolean> => {
    const news = await tree.take(loaded.files, source(), signal);
    if (news === "everything") return false;
    if (news.wanted.length === 0) return true;
    const lookBegan = loaded.beginLook();
    const take = (looks: readonly Look[]): void => loaded.write(looks, lookBegan);
    await lookMany.run(news.wanted as readonly ListedWanted[], settings(), take, signal);
    tree.follow(loaded.files);
    return true;
  };

  const onNews = (): void => {
    if (isClosed || watched === undefined || runs.current() !== undefined) return;
    void takeNews(watched, undefined)
      .then((isDone) => {
        if (!isDone) runs.startForNobody();
      })
      .catch(() => runs.startForNobody());
  };

  const isDue = (): boolean => {
    if (scanned === undefined || scanned.reach !== reachOf(settings())) return true;
    if (!settings().watch) return true;
    return watched?.isComplete() !== true && performance.now() - scanned.atMs > POLL_MS;
  };

  return {
    build: (force, signal, onProgress) => runs.join(force, signal, onProgress),

    catchUp: async (signal) => {
      loaded.sync();
      if (isDue()) runs.startForNobody();
      else if (runs.current() === undefined && watched !== undefined) {
        if (!(await takeNews(watched, signal))) runs.startForNobody();
        else if (performance.now() - (scanned?.atMs ?? 0) > RESCAN_MS) {
          runs.startForNobody();
          return;
        }
      }
      await runs.waitUntilAge(WAIT_MS, signal);
    },

    refresh: (paths, signal) =>
      lookAt(
        paths.map((path) => ({ path, hash: loaded.files.get(path)?.hash || undefined })),
        signal,
      ),

    state: () => {
      const progress = runs.current();
      if (progress === undefined || (scanned !== undefined && progress.phase !== "index"))
        return { state: "ready", done: loaded.files.size, total: loaded.files.size };
      return { state: "building", done: progress.done, total: progress.total };
    },
    isWatching: () => watched?.isComplete() ?? false,
    close: async () => {
      isClosed = true;
      watched?.close();
      await runs.close();
    },
  };
};
