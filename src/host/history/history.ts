import { posix } from "node:path";
import { setImmediate } from "node:timers/promises";
import { readText } from "../git/files.ts";
import type { CallerReach } from "../reach/reach.ts";
import { alternatesOf, checkRepository, findRepository, type GitRepository } from "../run/git/repository.ts";
import { type Budget, createBudget, OutOfBudget } from "./budget.ts";
import { type ObjectStore, openObjectStore } from "./object-store.ts";
import { changedPaths } from "./tree-changes.ts";

/** The files that one commit changed, relative to the workspace. */
export type ChangedTogether = readonly string[];

export interface HistoryLimits {
  /** So many commits back, merges not counted. */
  readonly maxCommits: number;
  /** A commit that changed more files says nothing about any two of them. */
  readonly maxPaths: number;
  /** Processor time of one call; the next goes on where it ended. Other work of the machine does not count. */
  readonly cpuMs: number;
  /** However slow the disk is. */
  readonly wallMs: number;
}

const MAX_REF_BYTES = 4096;
/** Some fifteen thousand branches and tags. It is read with every question, so more would cost more than it brings. */
const MAX_PACKED_REFS_BYTES = 1024 * 1024;
/** Of one call, in all: what is unpacked is kept until its end. */
const MAX_BYTES = 256 * 1024 * 1024;
/** Opened as they are: a link may lead out of the roots. */
const NO_LINKS = { noFollow: true };
const COMMIT_ID = /^[0-9a-f]{40}$/;

/** The commit that is checked out; undefined before the first one, and in formats that are not read here. */
const headOf = ({ gitDir, commonDir }: GitRepository, budget: Budget): string | undefined => {
  const head = readText(posix.join(gitDir, "HEAD"), MAX_REF_BYTES, NO_LINKS)?.trim() ?? "";
  if (COMMIT_ID.test(head)) return head;
  const ref = /^ref: (refs\/[^\s\\]+)$/.exec(head)?.[1];
  if (ref === undefined || ref.split("/").includes("..")) return undefined;
  const own = readText(posix.join(commonDir, ref), MAX_REF_BYTES, NO_LINKS)?.trim() ?? "";
  if (COMMIT_ID.test(own)) return own;
  const packed = readText(posix.join(commonDir, "packed-refs"), MAX_PACKED_REFS_BYTES, NO_LINKS) ?? "";
  budget.spend(packed.length);
  const end = `\n${packed}\n`.indexOf(` ${ref}\n`);
  return end < 0 ? undefined : COMMIT_ID.exec(`\n${packed}`.slice(Math.max(0, end - 40), end))?.[0];
};

const headWithin = (repository: GitRepository, budget: Budget): string | undefined => {
  try {
    return headOf(repository, budget);
  } catch (thrown) {
    if (!(thrown instanceof OutOfBudget)) throw thrown;
    return undefined;
  }
};

/** Of one commit. The largest merge in the history of Linux has 66. */
const MAX_PARENTS = 100;

interface Commit {
  readonly id: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly seconds: number;
}

const readCommit = (store: ObjectStore, id: string): Commit | undefined => {
  const text = store.read(id, "commit")?.toString("latin1");
  if (text === undefined) return undefined;
  const header = text.slice(0, text.indexOf("\n\n"));
  const tree = /^tree ([0-9a-f]{40})$/m.exec(header)?.[1];
  if (tree === undefined) return undefined;
  return {
    id,
    tree,
    parents: [...header.matchAll(/^parent ([0-9a-f]{40})$/gm)]
      .slice(0, MAX_PARENTS)
      .flatMap(([, parent]) => parent ?? []),
    seconds: Number(/^committer .* (\d{1,12}) [+-]\d{4}$/m.exec(header)?.[1] ?? 0),
  };
};

/** Paths of the repository as paths of the workspace, which may be a folder of it. */
const inWorkspace = (paths: readonly string[], top: string, workspace: string): ChangedTogether => {
  const folder = posix.relative(top, workspace);
  if (folder === "") return paths;
  const prefix = `${folder}/`;
  return paths.filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length));
};

/** Undefined where the workspace is in no repository, or in one that is withheld or leads out of the roots. */
const openRepository = ({ workspace, current }: CallerReach): GitRepository | undefined => {
  const { rules, gitDirectories, refuseRead } = current();
  try {
    const repository = findRepository(workspace, rules.roots);
    if (repository === undefined) return undefined;
    const refusal = refuseRead(posix.join(repository.gitDir, "HEAD"), "content");
    // Where the operator opened a git directory elsewhere, only its place is another one.
    if (refusal !== undefined && refusal !== "outside") return undefined;
    checkRepository(repository, [...rules.roots, ...gitDirectories]);
    return repository;
  } catch {
    return undefined;
  }
};

const storesOf = ({ commonDir }: GitRepository): readonly string[] => {
  const own = posix.join(commonDir, "objects");
  return [own, ...alternatesOf(own)];
};

/**
 * Which files were changed together lately, read from git's own files: no program is started. What was read is kept until
 * another commit is checked out, and then only the new commits are read.
 */
export const createHistory = ({ maxCommits, maxPaths, cpuMs, wallMs }: HistoryLimits) => {
  /** By commit, relative to the repository; none for merges and for sweeping changes. */
  const changes = new Map<string, ChangedTogether>();
  /** Twice as many as one look has: those of another branch stay as well. */
  const remember = (id: string, changed: ChangedTogether): void => {
    changes.delete(id);
    changes.set(id, changed);
    const [oldest] = changes.keys();
    if (changes.size > 2 * maxCommits && oldest !== undefined) changes.delete(oldest);
  };
  let last: { readonly key: string; readonly commits: readonly ChangedTogether[] } | undefined;

  const changesOf = (
    store: ObjectStore,
    { id, tree, parents }: Commit,
    /** Nothing else was compared in this call. */
    isFirst: boolean,
  ): ChangedTogether => {
    const known = changes.get(id);
    if (known !== undefined) return known;
    const before = parents[0] === undefined ? undefined : readCommit(store, parents[0])?.tree;
    // The first commit brings everything at once, and that of a shallow clone looks as if it did.
    if (parents.length !== 1 || before === undefined) {
      remember(id, []);
      return [];
    }
    // Until all is read, as if it had changed nothing: one that takes all the time of a call must not take that of each.
    if (isFirst) remember(id, []);
    const all = changedPaths(store, before, tree, maxPaths);
    remember(id, all);
    return all;
  };

  /** From the newest back, by date as git does it, until the budget is used up. */
  async function* walk(store: ObjectStore, head: string): AsyncGenerator<ChangedTogether> {
    const seen = new Set([head]);
    let isFirst = true;
    const waiting = [readCommit(store, head)].filter((one) => one !== undefined);
    while (waiting.length > 0 && seen.size <= maxCommits) {
      const newest = waiting.reduce((a, b) => (b.seconds > a.seconds ? b : a));
      waiting.splice(waiting.indexOf(newest), 1);
      const isKnown = changes.has(newest.id);
      const changed = changesOf(store, newest, isFirst);
      isFirst &&= isKnown;
      if (changed.length > 1) yield changed;
      for (const parent of newest.parents) {
        const commit = seen.has(parent) ? undefined : readCommit(store, parent);
        seen.add(parent);
        if (commit !== undefined) waiting.push(commit);
      }
      // Other questions are answered meanwhile.
      await setImmediate();
    }
  }

  const readAll = async (store: ObjectStore, head: string) => {
    const commits: ChangedTogether[] = [];
    try {
      for await (const changed of walk(store, head)) commits.push(changed);
      return { commits, isWhole: true };
    } catch (thrown) {
      if (!(thrown instanceof OutOfBudget)) throw thrown;
      return { commits, isWhole: false };
    }
  };

  /** Newest first; empty where there is no history that may be read. Commits of one file are left out. */
  return async (reach: CallerReach): Promise<readonly ChangedTogether[]> => {
    const repository = openRepository(reach);
    if (repository === undefined) return [];
    const budget = createBudget({ cpuMs, wallMs, maxBytes: MAX_BYTES });
    const head = headWithin(repository, budget);
    if (head === undefined) return [];
    const key = `${repository.commonDir} ${head}`;
    if (last?.key === key) return last.commits;
    const store = openObjectStore(storesOf(repository), budget);
    try {
      const { commits: all, isWhole } = await readAll(store, head);
      const commits = all.map((paths) => inWorkspace(paths, repository.top, reach.workspace));
      if (isWhole) last = { key, commits };
      return commits;
    } finally {
      store.close();
    }
  };
};
