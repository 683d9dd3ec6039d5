import { lstatSync, statSync } from "node:fs";
import { posix } from "node:path";
import { LlmcError } from "../../../base/error.ts";
import { quoteForMessage } from "../../../base/text.ts";
import { namesAdded, useOfFilters } from "../../../policy/git-filters.ts";
import { compileGlob } from "../../../policy/globs.ts";
import { insideRoots } from "../../../policy/paths.ts";
import { MAX_CONFIG_BYTES } from "../../git/files.ts";
import { MISSING, type Missing, readObeyed } from "../../git/obeyed-files.ts";
import { MAX_INDEX_BYTES, trackedFiles } from "./index-file.ts";
import { ownSettings } from "./left-out.ts";
import type { GitRepository } from "./repository.ts";
import { atHome, lastValue, systemSettings, userFile, userSettings } from "./user-settings.ts";

const NAME = ".gitattributes";

/** A line of attributes that names a filter. */
interface FilterLine {
  readonly filter: string;
  readonly pattern: string;
  /** The folder that the pattern is relative to. */
  readonly folder: string;
}

const linesOf = (content: Buffer | Missing | undefined, folder: string): readonly FilterLine[] => {
  if (content === undefined || content === MISSING || !content.includes("filter=")) return [];
  return content
    .toString()
    .split("\n")
    .flatMap((line) => {
      const [, filter] = /^\s*[^#\s].*?\sfilter=(\S+)/.exec(line) ?? [];
      return filter === undefined ? [] : [{ filter, pattern: line.trim().split(/\s/)[0] ?? "", folder }];
    });
};

interface CachedNames {
  readonly stamp: string;
  readonly names: readonly string[];
}

const cache = new Map<string, CachedNames>();

/** The attribute files that git keeps. Most repositories have none, and of these only the bytes are searched. */
const keptAttributes = ({ gitDir }: GitRepository): readonly string[] => {
  const path = posix.join(gitDir, "index");
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile() !== true) return [];
  const stamp = `${stats.ino} ${stats.size} ${stats.ctimeMs}`;
  const known = cache.get(path);
  if (known?.stamp === stamp) return known.names;
  const index = readObeyed(path, MAX_INDEX_BYTES);
  // The fourth version shortens names.
  const mayHold =
    index !== MISSING && (index.includes(NAME) || (index.length > 8 && index.readUInt32BE(4) === 4));
  const isAttributes = (name: string): boolean => posix.basename(name) === NAME;
  const names = (mayHold ? (trackedFiles(index, isAttributes) ?? []) : []).map(({ name }) => name);
  cache.set(path, { stamp, names });
  return names;
};

const filterLines = (
  repository: GitRepository,
  start: string,
  gitFolder: string | undefined,
): readonly FilterLine[] => {
  const { top, commonDir } = repository;
  const own = ownSettings(repository);
  const folders = new Set([
    top,
    ...keptAttributes(repository).map((name) => posix.join(top, posix.dirname(name))),
  ]);
  for (let folder = start; insideRoots(folder, [top]) && folder !== top; folder = posix.dirname(folder))
    folders.add(folder);
  const read = (path: string): Buffer | Missing => readObeyed(path, MAX_CONFIG_BYTES);
  const named = lastValue(own, "core.attributesfile");
  const everywhere: readonly (Buffer | Missing | undefined)[] = [
    read("/etc/gitattributes"),
    named === undefined
      ? userFile(userSettings(gitFolder), "core.attributesfile", "attributes", gitFolder)
      : read(posix.resolve(top, atHome(named))),
    read(posix.join(commonDir, "info/attributes")),
  ];
  const lines = [
    ...everywhere.flatMap((content) => linesOf(content, top)),
    ...[...folders].flatMap((folder) => linesOf(read(posix.join(folder, NAME)), folder)),
  ];
  if (lines.length === 0) return [];
  // Without a program, git passes content on as it is, for the user too. LFS may be set up for another user of the server.
  const programs = [...systemSettings(), ...userSettings(gitFolder), ...own]
    .filter(({ key, value }) => /^filter\..*\.(clean|smudge|process)$/s.test(key) && value !== "")
    .map(({ key }) => key.slice("filter.".length, key.lastIndexOf(".")));
  return lines.filter(({ filter }) => filter === "lfs" || programs.includes(filter));
};

/** Whether a pattern may mean a file; one that is not plain may mean any. */
const mayMean = ({ pattern, folder }: FilterLine, path: string): boolean => {
  if (/["[\]{}\\!]/.test(pattern)) return true;
  const inside = posix.relative(folder, path);
  const below = pattern.replace(/^\//, "");
  return compileGlob(pattern.includes("/") ? below : `**/${pattern}`)(inside);
};

const isFile = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;

/**
 * Filters do not run here: git would store the content of LFS files instead of pointers, or write pointers over files.
 * That is refused; what only compares is told why files look modified.
 */
export const refuseUnfiltered = (
  args: readonly string[],
  repository: GitRepository,
  start: string,
  gitFolder?: string,
): readonly string[] => {
  const use = useOfFilters(args);
  const lines = use === undefined ? [] : filterLines(repository, start, gitFolder);
  if (lines.length === 0) return [];
  const names = [...new Set(lines.map(({ filter }) => filter))]
    .map((name) => quoteForMessage(name))
    .join(", ");
  if (use === "shows")
    return [`files with a content filter (${names}) may look modified, because filters do not run here`];
  const added = namesAdded(args)?.map((name) => posix.resolve(start, name));
  const isApart = (path: string): boolean =>
    isFile(path) && posix.basename(path) !== NAME && !lines.some((line) => mayMean(line, path));
  if (added !== undefined && added.length > 0 && added.every(isApart)) return [];
  throw new LlmcError(
    "forbidden",
    `This git command would store or check out files without their content filter (${names}): filters do not run here.`,
    {
      hint: "Add files that no filter concerns by their names, and commit without -a. For others, the user runs it in a terminal, or the operator lets git run programs: llmc allow git:run.",
    },
  );
};
