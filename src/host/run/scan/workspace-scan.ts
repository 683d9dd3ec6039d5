import { readdirSync } from "node:fs";
import { posix } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LlmcError } from "../../../base/error.ts";
import { isBelowOneOf } from "../../../base/paths.ts";
import { GIT_NAME, isHeadName, looksLikeGitDirectory } from "../../../policy/git-directory.ts";
import { isState, nameBeforeRefusal } from "../../../policy/paths.ts";
import { closedPaths, isConfigName } from "../../../policy/reach.ts";
import { systemPath } from "../../reach/byte-path.ts";
import { identify } from "../../reach/identity.ts";
import type { SeenEntries } from "../../reach/obeyed-beside.ts";
import type { CallerReach, Reach } from "../../reach/reach.ts";
import { SYSTEM_FOLDERS } from "../tiers/system-folders.ts";
import { createFolderIndex, type FolderIndex } from "./folder-index.ts";
import type { Entry } from "./read-folder.ts";

/** Something in the roots that the reach table covers, recognised by its name or by its content. */
export interface Finding {
  readonly kind: "secret" | "git" | "startup" | "config" | "state" | "closed" | "unknown";
  /** Bytes that are not UTF-8 are encoded as described in `byte-path.ts`. */
  readonly path: string;
  /** A link cannot be covered by a mount; it is checked again after the run. */
  readonly isLink: boolean;
  /** Names the very file or folder, wherever it is moved. */
  readonly identity: string;
}

/** How long a command waits for the first scan of the whole workspace. */
const FIRST_MS = 8000;
/** Before every command: enough to check about 1,000 folders, so that what is new there is found at once. */
const QUICK_UPDATE_MS = 3;
/** A larger workspace is scanned as a whole when the last whole scan is this long ago. */
const WHOLE_EVERY_MS = 10_000;
const WHOLE_MS = 1000;

/** Not scanned, even where the whole machine is a root: every command sees them, or nothing of them. */
const OF_THE_SYSTEM: ReadonlySet<string> = new Set(["/proc", "/sys", "/dev", ...SYSTEM_FOLDERS]);

/** Managed by package managers; nobody opens these folders as a workspace. */
const isDependency = (path: string): boolean => path.includes("/node_modules/");

const tooEarly = (): LlmcError =>
  new LlmcError("busy", "The workspace is still being scanned for secrets and protected files.", {
    hint: "Try again in a moment. allowed_roots under [mcp.tools] says what is scanned.",
  });

/** Resolves to false if the work takes longer; the work continues. */
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

/** What has gone by now is known by its path. */
const identityAt = (path: string): string => identify(path) ?? path;

export const findingOf = (kind: Finding["kind"], path: string, isLink = false): Finding => ({
  kind,
  path,
  isLink,
  identity: identityAt(path),
});

/** Of what lies in a closed folder, only what it was is known: it is judged when the folder has been opened. */
export const judgeable = (found: readonly Finding[]): readonly Finding[] => {
  const closed = new Set(found.filter(({ kind }) => kind === "closed").map(({ path }) => path));
  return closed.size === 0 ? found : found.filter(({ path }) => !isBelowOneOf(path, closed));
};

/** What is called HEAD in a folder, in any letters. */
export const headsIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(systemPath(folder)).filter(isHeadName);
  } catch {
    // A file, or a folder that we cannot list: its HEAD has the usual name, if it has one.
    return ["HEAD"];
  }
};

/** A folder that its HEAD makes a git directory. It is that very repository only as long as it has the same HEAD. */
const bareRepository = (path: string, heads: readonly string[]): Finding => ({
  ...findingOf("git", path),
  identity: heads.map((head) => identityAt(posix.join(path, head))).join(" "),
});

const indexFolders = ({
  rules,
  reachRules,
  hasWithheldName,
  isAboveStartup,
}: Reach): FolderIndex<Finding> => {
  const closed = new Set(closedPaths("commands", reachRules));
  return createFolderIndex<Finding>({
    roots: rules.roots,
    classifyFolder: (path, entries) => {
      const heads = entries.filter((entry) => isHeadName(entry.name) && !entry.isDirectory());
      if (heads.length === 0) return undefined;
      // The entries are at hand: no further question to the disk, which may take other letters for the same name.
      const names = new Map([...entries, ...heads].map((entry) => [entry.name.toLowerCase(), entry]));
      const entryKind = (inner: string) => {
        const entry = names.get(posix.basename(inner).toLowerCase());
        if (entry === undefined) return undefined;
        return entry.isDirectory() ? "directory" : entry.isSymbolicLink() ? "link" : "file";
      };
      return looksLikeGitDirectory(path, entryKind)
        ? bareRepository(
            path,
            heads.map(({ name }) => name),
          )
        : undefined;
    },
    classify: (path, entry: Entry) => {
      const isLink = entry.isSymbolicLink();
      if (GIT_NAME.test(entry.name)) return { found: [findingOf("git", path, isLink)], enter: false };
      // Of state that was renamed, or is called so, nobody knows who wrote what is in it.
      if (isState(entry.name))
        return {
          found: [findingOf("state", path, isLink)],
          enter: nameBeforeRefusal(entry.name) !== entry.name,
        };
      // A folder of this workspace may be the workspace of another server.
      if (isConfigName(entry.name) && !isDependency(path))
        return { found: [findingOf("config", path, isLink)], enter: true };
      const found = entry.isFile() && hasWithheldName(path) ? [findingOf("secret", path)] : [];
      // The content of a start-up folder is guarded with it; secrets and repositories in it are still searched for. A
      // link in it leads elsewhere, and one in the place of a folder above start-up files brings its own.
      const isFirst = isLink || !reachRules.isStartup(posix.dirname(path));
      const isStartup = reachRules.isStartup(path) ? isFirst : isLink && isAboveStartup(path);
      if (!isStartup || isDependency(path)) return { found, enter: true };
      return { found: [...found, findingOf("startup", path, isLink)], enter: true };
    },
    closed: (path) => findingOf("closed", path),
    unknown: (path) => findingOf("unknown", path),
    skips: (path) => OF_THE_SYSTEM.has(path) || closed.has(path),
  });
};

/** The findings in the roots under the rules of one moment, kept up to date without reading every folder each time. */
export type WorkspaceScan = ReturnType<typeof scanUnder>;

const scanUnder = (reach: Reach) => {
  const index = indexFolders(reach);
  let wholeAt: number | undefined;

  return {
    /** The same list as long as nothing changed. */
    current: async (): Promise<readonly Finding[]> => {
      const now = performance.now();
      if (wholeAt === undefined) {
        if (!(await within(index.update(), FIRST_MS))) throw tooEarly();
        wholeAt = now;
        return index.found();
      }
      let sawAll = false;
      const quick = index.updateWithin(QUICK_UPDATE_MS).then((isAll) => {
        sawAll = isAll;
      });
      await within(quick, WHOLE_MS);
      if (!sawAll && now - wholeAt >= WHOLE_EVERY_MS) {
        wholeAt = now;
        await within(index.update(), WHOLE_MS);
      }
      return index.found();
    },
    /** After a command that may have written: every folder is checked. */
    again: async (): Promise<readonly Finding[]> => {
      // Without a time limit.
      await index.update();
      return index.found();
    },
    /** False where the roots hold more folders than can be remembered. */
    isWhole: (): boolean => index.isWhole(),
  };
};

/** Files that are withheld by their names. */
export const secretsIn = (found: readonly Finding[]): readonly string[] =>
  found.filter(({ kind }) => kind === "secret").map(({ path }) => path);

/** What leads to files elsewhere that are obeyed. */
export const obeyedBesideOf = (found: readonly Finding[]): SeenEntries => ({
  repositories: found.filter(({ kind }) => kind === "git").map(({ path }) => path),
  configLinks: found.filter(({ kind, isLink }) => kind === "config" && isLink).map(({ path }) => path),
  closed: found.filter(({ kind }) => kind === "closed").map(({ path }) => path),
});

/**
 * Finds what commands must not read or change in the roots. When the rules change, everything is scanned again, for
 * commands that start from then on: the check after a command looks with the rules that it was started under.
 */
export type Scans = ReturnType<typeof createScans>;

export const createScans = (source: CallerReach) => {
  let last: { readonly key: string; readonly scan: WorkspaceScan } | undefined;
  const scans = {
    /** The rules in force now, and the scan under them. */
    now: (): { readonly reach: Reach; readonly scan: WorkspaceScan } => {
      const [key, reach] = [source.rulesKey(), source.current()];
      if (last?.key !== key) last = { key, scan: scanUnder(reach) };
      return { reach, scan: last.scan };
    },
    /** Scans the roots, so that what repositories and links of configuration files lead to is known. */
    knowObeyed: async (): Promise<void> => {
      if (source.obeyedBeside === undefined) return;
      source.obeyedBeside.see(obeyedBesideOf(await scans.now().scan.current()));
    },
  };
  return scans;
};
