import { type FSWatcher, watch } from "node:fs";
import { systemErrorCode } from "../../base/system-error.ts";
import { hasDistantMounts } from "../reach/mounts.ts";

/** What may have changed since it was last asked for. */
export interface TreeChanges {
  /** Absolute paths of entries that were made, written, moved or removed. */
  readonly paths: ReadonlySet<string>;
  /** There were too many changes, or some events were lost: everything has to be scanned. */
  readonly isFlood: boolean;
}

export interface TreeWatchOptions {
  /** After the last of a series of changes, and at the latest after ten such pauses. */
  readonly onNews: () => void;
  readonly quietMs: number;
  /** A system has some thousands to hundred thousands for all processes together (fs.inotify.max_user_watches). */
  readonly maxDirectories: number;
}

// The kernel drops what is beyond its queue of 16,384 events without telling Node: far fewer at once is suspicious.
const FLOOD = 4000;

const NOTHING: TreeChanges = { paths: new Set(), isFlood: false };

/** Listens to directories. It never keeps the process alive. */
export type TreeWatch = ReturnType<typeof createTreeWatch>;

export const createTreeWatch = ({ onNews, quietMs, maxDirectories }: TreeWatchOptions) => {
  const watchers = new Map<string, FSWatcher>();
  // Changes that another machine makes on a shared disk raise no events here.
  const isBlind = hasDistantMounts();
  let hasRefused = false;
  let isOver = false;
  let paths = new Set<string>();
  let isFlood = false;
  let events = 0;
  let timer: NodeJS.Timeout | undefined;
  let latestMs = 0;
  let isClosed = false;

  const announce = (): void => {
    clearTimeout(timer);
    const nowMs = performance.now();
    if (latestMs === 0) latestMs = nowMs + 10 * quietMs;
    timer = setTimeout(
      () => {
        latestMs = 0;
        onNews();
      },
      Math.max(0, Math.min(quietMs, latestMs - nowMs)),
    );
    timer.unref();
  };

  const forget = (directory: string): void => {
    watchers.get(directory)?.close();
    watchers.delete(directory);
  };

  const note = (path: string): void => {
    if (isClosed) return;
    events++;
    // What is listened to by a name that was moved or made again is another directory now.
    if (watchers.has(path)) forget(path);
    if (events > FLOOD) {
      isFlood = true;
      // Node goes on as long as there are events, and does nothing else meanwhile. Everything is scanned next anyway.
      for (const directory of [...watchers.keys()]) forget(directory);
    }
    if (isFlood) paths.clear();
    else paths.add(path);
    announce();
  };

  const listen = (directory: string): void => {
    try {
      const watcher = watch(directory, { persistent: false }, (_event, name) =>
        note(name === null ? directory : directory === "/" ? `/${name}` : `${directory}/${name}`),
      );
      watcher.on("error", () => {
        forget(directory);
        isFlood = true;
        announce();
      });
      watchers.set(directory, watcher);
    } catch (error) {
      // A directory that is already gone is fine; running out of watches is not.
      const code = systemErrorCode(error);
      if (code !== "ENOENT" && code !== "ENOTDIR") hasRefused = true;
    }
  };

  return {
    /** Listens to these directories, absolute, and no others; true where it did not listen to one of them before. */
    follow: (directories: ReadonlySet<string>): boolean => {
      if (isClosed) return false;
      isOver = directories.size > maxDirectories;
      hasRefused = false;
      for (const directory of [...watchers.keys()]) if (!directories.has(directory)) forget(directory);
      const before = watchers.size;
      for (const directory of directories) {
        if (watchers.size >= maxDirectories || hasRefused) break;
        if (!watchers.has(directory)) listen(directory);
      }
      return watchers.size > before;
    },
    /** Returns the collected changes and clears them. */
    take: (): TreeChanges => {
      if (events === 0 && !isFlood) return NOTHING;
      const taken = { paths, isFlood };
      paths = new Set();
      isFlood = false;
      events = 0;
      return taken;
    },
    hasNews: (): boolean => events > 0 || isFlood,
    /** False if some directories cannot be watched; the caller then has to poll. */
    isComplete: (): boolean => !isClosed && !isBlind && !hasRefused && !isOver && watchers.size > 0,
    close: (): void => {
      isClosed = true;
      clearTimeout(timer);
      for (const directory of [...watchers.keys()]) forget(directory);
    },
  };
};
