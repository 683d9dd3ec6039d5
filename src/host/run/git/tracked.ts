import { hash } from "node:crypto";
import { type Stats, statSync } from "node:fs";
import { posix } from "node:path";
import { insideRoots } from "../../../policy/paths.ts";
import { readSmallFile } from "../../git/files.ts";
import { MAX_INDEX_BYTES, trackedFiles } from "./index-file.ts";
import { type GitRepository, repositoryAt } from "./repository.ts";

/** A larger secret counts as modified. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Of all indexes and secrets that are read for one command, about a second's work; one file may have many names. */
const MAX_READ_BYTES = 2 * MAX_INDEX_BYTES;

/** Reads files until it has read too much. */
const createReader = () => {
  let left = MAX_READ_BYTES;
  return (path: string, maxBytes: number): Buffer | undefined => {
    const content = readSmallFile(path, Math.min(maxBytes, left));
    left -= content?.length ?? 0;
    return content;
  };
};

/** Git's blob id of a content, SHA-1 or SHA-256 like the other id. */
const blobOf = (content: Buffer, other: string): string =>
  hash(
    other.length === 64 ? "sha256" : "sha1",
    Buffer.concat([Buffer.from(`blob ${content.length}\0`), content]),
    "hex",
  );

export interface TrackedSecrets {
  /** Files that are identical to the version in git's index. */
  readonly unmodified: ReadonlySet<string>;
  /** Files whose content differs from the version in git's index. */
  readonly changed: ReadonlySet<string>;
}

interface CachedIndex {
  readonly stamp: string;
  readonly asked: string;
  /** Ids by name, of the names that were asked for. */
  readonly blobs: ReadonlyMap<string, string>;
}

const statsOf = (path: string): Stats | undefined => {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};

/**
 * The repository around a folder. Each folder is looked at once: a hundred thousand secrets may lie in one or in many, and
 * the disk is asked a dozen times for a look.
 */
const createRepositoryFinder = (roots: readonly string[]) => {
  const known = new Map<string, GitRepository | "invalid" | undefined>();
  const read = (folder: string): GitRepository | "invalid" | undefined => {
    try {
      return repositoryAt(folder);
    } catch {
      return "invalid";
    }
  };
  const find = (folder: string): GitRepository | "invalid" | undefined => {
    if (known.has(folder) || !insideRoots(folder, roots)) return known.get(folder);
    const found = read(folder) ?? (folder === "/" ? undefined : find(posix.dirname(folder)));
    known.set(folder, found);
    return found;
  };
  return (folder: string): GitRepository | undefined => {
    const found = find(folder);
    // A repository without a valid git directory tracks no files.
    return found === "invalid" ? undefined : found;
  };
};

/**
 * Finds the withheld files that are identical to the version in git's index, so that git may read them. A file that
 * differs, an index that cannot be read, and any other doubt count as modified (FAIL-J4).
 */
export const createTrackedFinder = () => {
  const cache = new Map<string, CachedIndex>();

  const blobsIn = (
    index: string,
    names: readonly string[],
    read: ReturnType<typeof createReader>,
  ): ReadonlyMap<string, string> => {
    const stats = statsOf(index);
    if (stats?.isFile() !== true) return new Map();
    const stamp = `${stats.ino} ${stats.size} ${stats.ctimeMs}`;
    const asked = names.join("\0");
    const before = cache.get(index);
    if (before?.stamp === stamp && before.asked === asked) return before.blobs;
    const bytes = read(index, MAX_INDEX_BYTES);
    const wanted = new Set(names);
    const isWanted = (name: string): boolean => wanted.has(name);
    const files = (bytes === undefined ? undefined : trackedFiles(bytes, isWanted)) ?? [];
    const blobs = new Map(files.map(({ name, blob }) => [name, blob]));
    // What was too much for this command may be read for the next one.
    if (bytes !== undefined) cache.set(index, { stamp, asked, blobs });
    return blobs;
  };

  /** Both are real paths; repositories are searched for only inside the roots. */
  return (
    paths: readonly string[],
    roots: readonly string[],
    /** The only git directories whose word counts; if omitted, all. */
    witnesses?: ReadonlySet<string>,
  ): TrackedSecrets => {
    const byRepository = new Map<string, { readonly top: string; readonly inside: string[] }>();
    const repositoryAround = createRepositoryFinder(roots);
    for (const path of paths) {
      const found = repositoryAround(posix.dirname(path));
      if (found === undefined || witnesses?.has(found.gitDir) === false) continue;
      const { top, gitDir } = found;
      const known = byRepository.get(gitDir) ?? { top, inside: [] };
      known.inside.push(path);
      byRepository.set(gitDir, known);
    }
    const read = createReader();
    const unmodified = new Set<string>();
    const changed = new Set<string>();
    for (const [gitDir, { top, inside }] of byRepository) {
      const names = inside.map((path) => posix.relative(top, path));
      const blobs = blobsIn(posix.join(gitDir, "index"), names, read);
      for (const [at, name] of names.entries()) {
        const blob = blobs.get(name);
        const path = inside[at];
        if (blob === undefined || path === undefined) continue;
        const content = read(path, MAX_FILE_BYTES);
        (content !== undefined && blobOf(content, blob) === blob ? unmodified : changed).add(path);
      }
    }
    return { unmodified, changed };
  };
};
