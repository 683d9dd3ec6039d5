import { type FSWatcher, lstatSync, readlinkSync, statSync, watch } from "node:fs";
import { basename, join } from "node:path";

/** A name in a folder that decides which file a path leads to. */
interface Lookup {
  readonly folder: string;
  readonly name: string;
}

/** As many as the kernel follows. */
const MAX_LINKS = 40;

/**
 * The links on the way, and at its end the file, or the first name that is missing. Dotfiles are links to files
 * elsewhere, and Kubernetes swaps a link beside the file: each of those names may get another content.
 */
const findLookups = (path: string): readonly Lookup[] => {
  const links: Lookup[] = [];
  let folder = "/";
  let rest = path.split("/").filter((name) => name !== "");
  for (;;) {
    const [name = ".", ...further] = rest;
    const at = join(folder, name);
    const stats = lstatSync(at, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink() && links.length < MAX_LINKS) {
      links.push({ folder, name });
      const target = readlinkSync(at);
      if (target.startsWith("/")) folder = "/";
      rest = [...target.split("/").filter((each) => each !== ""), ...further];
    } else if (stats?.isDirectory() && further.length > 0) {
      folder = at;
      rest = further;
    } else return [...links, { folder, name }];
  }
};

const isSame = (some: readonly Lookup[], others: readonly Lookup[]): boolean =>
  JSON.stringify(some) === JSON.stringify(others);

const openWatch = ({ folder, name }: Lookup, changed: () => void): FSWatcher => {
  const { ino } = statSync(folder);
  const isReplaced = (): boolean => statSync(folder, { throwIfNoEntry: false })?.ino !== ino;
  // The folder is watched, not the file: editors replace a file, which ends a watch on the old one.
  const watcher = watch(folder, { persistent: false }, (_event, changedName) => {
    if (changedName === null || changedName === name) changed();
    // That the folder itself was moved or removed is reported under its own name.
    else if (changedName === basename(folder) && isReplaced()) changed();
  });
  watcher.on("error", () => watcher.close());
  return watcher;
};

const openWatches = (lookups: readonly Lookup[], changed: () => void): FSWatcher[] => {
  const opened: FSWatcher[] = [];
  try {
    for (const lookup of lookups) opened.push(openWatch(lookup, changed));
    return opened;
  } catch (error) {
    for (const watcher of opened) watcher.close();
    throw error;
  }
};

// Editors write in several steps. Counted from the first event: others that follow, whoever causes them, delay nothing.
const DELAY_MS = 50;

/**
 * Calls back soon after the file was changed, replaced, removed or made, also where links lead to it; returns the stop
 * function. The path is absolute.
 */
export const watchPath = (path: string, changed: () => void): (() => void) => {
  let lookups: readonly Lookup[] = [];
  let watchers: readonly FSWatcher[] = [];
  let timer: NodeJS.Timeout | undefined;

  const follow = (): void => {
    const before = watchers;
    lookups = findLookups(path);
    watchers = openWatches(lookups, soon);
    for (const watcher of before) watcher.close();
    // A link that was changed before it was watched has no event.
    if (!isSame(lookups, findLookups(path))) soon();
  };
  const soon = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      try {
        follow();
      } catch {
        // Not all of the way can be watched now: what is watched stays.
      }
      changed();
    }, DELAY_MS).unref();
  };

  follow();
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
};
