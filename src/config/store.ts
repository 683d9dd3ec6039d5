import { LlmcError, toLlmcError } from "../base/error.ts";
import type { Loaded } from "./load.ts";
import type { ConfigDisk } from "./load-request.ts";
import { buildConfig, ENTRIES, valueAt } from "./sections.ts";

export interface ConfigChange {
  /** Keys whose new value is in force now. */
  readonly changed: readonly string[];
  /** Keys whose value on disk waits for the next start; the value in force stays the one of this start. */
  readonly needsRestart: readonly string[];
}

type ReloadResult = ConfigChange | { readonly error: LlmcError };
type ChangeListener = (next: Loaded, previous: Loaded, change: ConfigChange) => void;

interface StoreParts {
  /**
   * Loads the configuration as at the start, with the same overrides and environment, which stay in force across
   * reloads.
   */
  readonly load: () => Promise<Loaded>;
  readonly first: Loaded;
  readonly onError: (error: LlmcError) => void;
}

const findDifferences = (one: Loaded, other: Loaded): string[] =>
  [...ENTRIES.keys()].filter(
    (key) => JSON.stringify(valueAt(one.config, key)) !== JSON.stringify(valueAt(other.config, key)),
  );

const waitsFor = ({ waiting, digests }: Loaded): string => JSON.stringify([waiting, digests]);

/** `next`, with the keys in `kept` as they are in `current`. */
const keepValues = (current: Loaded, next: Loaded, kept: ReadonlySet<string>): Loaded => {
  const sourceOf = (key: string): Loaded => (kept.has(key) ? current : next);
  const keys = [...ENTRIES.keys()];
  return {
    ...next,
    config: buildConfig(new Map(keys.map((key) => [key, valueAt(sourceOf(key).config, key)]))),
    origins: new Map([...next.origins, ...[...current.origins].filter(([key]) => kept.has(key))]),
  };
};

type Outcome = { readonly loaded: Loaded } | { readonly error: LlmcError };

const isSame = (one: Outcome, other: Outcome): boolean => {
  if ("error" in one || "error" in other) {
    return "error" in one && "error" in other && one.error.message === other.error.message;
  }
  return (
    findDifferences(one.loaded, other.loaded).length === 0 && waitsFor(one.loaded) === waitsFor(other.loaded)
  );
};

const SETTLE_MS = 50;
const MAX_READS = 20;

/**
 * A program that writes in place empties the file first, and an empty file is a valid one: taking it would put the
 * defaults in force, and keep them there if the edit turns out bad. A file that reads the same twice is complete.
 */
const readSettled = async (read: () => Promise<Outcome>): Promise<Outcome> => {
  let before = await read();
  for (let reads = 1; reads < MAX_READS; reads++) {
    await new Promise((done) => setTimeout(done, SETTLE_MS).unref());
    const after = await read();
    if (isSame(before, after)) return after;
    before = after;
  }
  return before;
};

interface Watched {
  readonly current: () => Loaded;
  readonly refresh: () => Promise<unknown>;
  readonly onError: (error: LlmcError) => void;
}

const watchFiles = (
  disk: Pick<ConfigDisk, "watch">,
  { current, refresh, onError }: Watched,
): (() => void) => {
  const stops = new Map<string, () => void>();
  const follow = (path: string): void => void stops.set(path, disk.watch(path, changed));
  const followOthers = (): void => {
    for (const path of current().alsoFrom.filter((each) => !stops.has(each))) {
      try {
        follow(path);
      } catch {
        // What changes there is read with the next reload.
      }
    }
  };
  let [isUnderWay, isOutdated] = [false, false];
  const changed = async (): Promise<void> => {
    // However many events there are, one reload after them sees what they were about.
    isOutdated = true;
    if (isUnderWay) return;
    isUnderWay = true;
    while (isOutdated) {
      isOutdated = false;
      await refresh().then(followOthers, () => undefined);
    }
    isUnderWay = false;
  };
  const stopAll = (): void => {
    for (const stop of stops.values()) stop();
  };
  try {
    follow(current().lookedAt);
    // An edit between the first load and this watch has no event of its own.
    void changed();
    return stopAll;
  } catch (cause) {
    const text = "The config file cannot be watched: edits take effect at the next start.";
    onError(new LlmcError("unavailable", text, { cause }));
    return stopAll;
  }
};

export const createConfigStore = ({ load, first, onError }: StoreParts) => {
  let current = first;
  let waiting: readonly string[] = [];
  let queue: Promise<unknown> = Promise.resolve();
  const listeners = new Set<ChangeListener>();
  const unchangedListeners = new Set<() => void>();

  const read = (): Promise<Outcome> =>
    load().then(
      (loaded) => ({ loaded }),
      (thrown: unknown) => ({ error: toLlmcError(thrown) }),
    );

  const notify = (next: Loaded, previous: Loaded, change: ConfigChange): void => {
    for (const listener of [...listeners]) {
      try {
        listener(next, previous, change);
      } catch (error) {
        onError(toLlmcError(error));
      }
    }
  };

  const apply = (outcome: Outcome): ReloadResult => {
    if ("error" in outcome) {
      onError(outcome.error);
      return outcome;
    }
    const { loaded } = outcome;
    const previous = current;
    const needsRestart = findDifferences(loaded, previous).filter((key) => ENTRIES.get(key)?.option.restart);
    const next = keepValues(previous, loaded, new Set(needsRestart));
    const change = { changed: findDifferences(next, previous), needsRestart };
    const isNews =
      change.changed.length > 0 ||
      needsRestart.join() !== waiting.join() ||
      waitsFor(next) !== waitsFor(previous);
    current = next;
    waiting = needsRestart;
    if (isNews) notify(next, previous, change);
    else for (const listener of [...unchangedListeners]) listener();
    return change;
  };

  const inTurn = (reading: () => Promise<Outcome>): Promise<ReloadResult> => {
    const result = queue.then(reading).then(apply);
    // A failed load is reported; if `onError` itself throws, later reloads still run.
    queue = result.catch(() => undefined);
    return result;
  };

  return {
    current: (): Loaded => current,
    /** Returns the function that removes the listener. */
    onChange: (listener: ChangeListener): (() => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** Calls back after a reload that found nothing new: files that the configuration only names may have changed. */
    onUnchanged: (listener: () => void): (() => void) => {
      unchangedListeners.add(listener);
      return () => unchangedListeners.delete(listener);
    },
    reload: (): Promise<ReloadResult> => inTurn(read),
    /** Reloads whenever a file that it comes from changes, appears or goes; returns the stop function. */
    watch: (disk: Pick<ConfigDisk, "watch">): (() => void) =>
      watchFiles(disk, { current: () => current, refresh: () => inTurn(() => readSettled(read)), onError }),
  };
};

export type ConfigStore = ReturnType<typeof createConfigStore>;
