import { posix } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LlmcError } from "../../base/error.ts";
import type { Denylist } from "../../policy/denylist.ts";
import { STATE_DIR } from "../../policy/paths.ts";
import { coverFiles } from "./cover-files.ts";
import { type Census, createCensus } from "./folder-census.ts";
import { createTrackedFinder } from "./git-tracked.ts";
import { SYSTEM_FOLDERS } from "./system-folders.ts";

interface SecretScan {
  /** Real paths. */
  readonly roots: readonly string[];
  /** Folders that are hidden whole, whatever they hold. */
  readonly privateDirs: readonly string[];
  readonly denies: Denylist;
}

/** How long a command waits until the whole workspace was looked through once. */
const FIRST_MS = 8000;
/** Before every command, about as long as 1,000 folders take to look at: a new secret there is found at once. */
const GLANCE_MS = 3;
/** A larger workspace is looked through as a whole when the last time is so long ago. */
const WHOLE_EVERY_MS = 10_000;
const WHOLE_MS = 1000;
/** Names that bubblewrap covers in about 50 ms; its time grows with the square of them. */
const MAX_COVERED = 100;

/** State of another server, whose workspace lies in ours. */
const OTHER_STATE = `/${STATE_DIR}/`;

/** Not looked through, also where the whole machine is a root: every command sees them, or nothing of them. */
const OF_THE_SYSTEM: ReadonlySet<string> = new Set(["/proc", "/sys", "/dev", ...SYSTEM_FOLDERS]);

const tooEarly = (): LlmcError =>
  new LlmcError("busy", "The workspace is still being looked through for secrets to keep from commands.", {
    hint: "Try again in a moment. allowed_roots under [mcp.tools] says what is looked through.",
  });

const tooMany = (count: number): LlmcError =>
  new LlmcError(
    "unavailable",
    `${count} files are withheld by name, too many of them in the top folder itself to keep them from a command.`,
    { hint: "Move them into a folder of their own, or narrow mcp.tools.denylist_globs." },
  );

/** False where it took longer; it goes on. */
const within = async (work: Promise<unknown>, maxMs: number): Promise<boolean> => {
  const stop = new AbortController();
  const late = sleep(maxMs, "late" as const, { signal: stop.signal, ref: false }).catch(
    () => "late" as const,
  );
  try {
    return (await Promise.race([work, late])) !== "late";
  } finally {
    stop.abort();
  }
};

/**
 * Files whose content no tool returns, found in the roots so that commands can be kept from them too; where there are
 * very many, the folders that hold them.
 */
export const createSecretFinder = (current: () => SecretScan) => {
  const findTracked = createTrackedFinder();
  let census: Census | undefined;
  let last: { readonly key: string; readonly denies: Denylist } | undefined;
  let cover: { readonly of: readonly string[]; readonly names: readonly string[] | undefined } | undefined;
  let wholeAt: number | undefined;

  const bringUpToDate = async (census: Census): Promise<void> => {
    const now = performance.now();
    if (wholeAt === undefined) {
      if (!(await within(census.update(), FIRST_MS))) throw tooEarly();
      wholeAt = now;
      return;
    }
    let sawAll = false;
    const glanced = census.glance(GLANCE_MS).then((isAll) => {
      sawAll = isAll;
    });
    await within(glanced, WHOLE_MS);
    if (sawAll || now - wholeAt < WHOLE_EVERY_MS) return;
    wholeAt = now;
    await within(census.update(), WHOLE_MS);
  };

  /** For git, only what it does not keep: it would take a withheld file for an emptied one, and could commit it so. */
  return async (program: string): Promise<readonly string[]> => {
    const { roots, privateDirs, denies } = current();
    const key = roots.join("\0");
    if (census === undefined || last?.key !== key || last.denies !== denies) {
      census = createCensus({
        roots,
        wants: (path) => denies(path, roots) || path.includes(OTHER_STATE),
        skips: (path) =>
          posix.basename(path) === ".git" || OF_THE_SYSTEM.has(path) || privateDirs.includes(path),
      });
      last = { key, denies };
      wholeAt = undefined;
    }
    await bringUpToDate(census);
    const found = census.found();
    if (cover?.of !== found) cover = { of: found, names: coverFiles(found, roots, MAX_COVERED) };
    if (cover.names === undefined) throw tooMany(found.length);
    if (program !== "git" && !program.startsWith("git-")) return cover.names;
    const tracked = await findTracked(cover.names, roots);
    return cover.names.filter((name) => !tracked.has(name));
  };
};
