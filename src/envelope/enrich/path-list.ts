import { plural } from "../../base/text.ts";
import { countFitting, firstThatFits } from "./budget.ts";
import type { EnrichLimits } from "./contract.ts";

interface Folder {
  readonly names: string[];
}

/** A name with spaces is quoted, because names are separated by spaces. */
export const quoteName = (name: string): string => (/\s/.test(name) ? JSON.stringify(name) : name);

const group = (paths: readonly string[]): Map<string, Folder> => {
  const folders = new Map<string, Folder>();
  for (const path of paths) {
    const end = path.endsWith("/") ? path.length - 1 : path.length;
    const slash = path.lastIndexOf("/", end - 1);
    const dir = path.slice(0, slash + 1);
    const folder = folders.get(dir) ?? { names: [] };
    folder.names.push(path.slice(slash + 1));
    folders.set(dir, folder);
  }
  return folders;
};

/** The folder that all of them are in. */
const commonFolder = (dirs: readonly string[]): string => {
  let common = dirs[0] ?? "";
  for (const dir of dirs) {
    while (common !== "" && !dir.startsWith(common))
      common = common.slice(0, common.lastIndexOf("/", common.length - 2) + 1);
  }
  return common;
};

const fold = (dir: string, depth: number): string => `${dir.split("/", depth).join("/")}/`;

const tally = (dirs: Iterable<readonly [string, number]>): Map<string, number> => {
  const sums = new Map<string, number>();
  for (const [dir, count] of dirs) sums.set(dir, (sums.get(dir) ?? 0) + count);
  return sums;
};

/** Maximum number of folders that are listed, largest first; more would not help to find anything. */
const MAX_FOLDERS = 80;
const FEW_FOLDERS = 4;

/** Where things are, by folder, as deep as there is room for. */
export const summarizeFolders = (
  folders: readonly (readonly [dir: string, count: number])[],
  maxTokens: number,
): string => {
  const whole = [...tally(folders)];
  const rows = (depth: number): string[] => {
    const sums = tally(whole.map(([dir, count]) => [fold(dir, depth).replace(/\/+$/, "/"), count]));
    return [...sums]
      .sort((a, b) => b[1] - a[1])
      .map(([dir, count]) => `${dir === "/" ? "./" : dir} ${count}`);
  };
  const cutTo = (all: readonly string[]): string => {
    const shown = countFitting(all.slice(0, MAX_FOLDERS), maxTokens - 12);
    const rest = all.length === shown ? [] : [`[and ${plural(all.length - shown, "more folder")}]`];
    return [...all.slice(0, shown), ...rest].join("\n");
  };
  let deeper = rows(99);
  for (const depth of [5, 4, 3, 2, 1]) {
    if (deeper.length <= MAX_FOLDERS && !cutTo(deeper).endsWith("]")) break;
    const all = rows(depth);
    // With too few folders at this level, the largest deeper folders are more informative.
    if (all.length < FEW_FOLDERS) break;
    deeper = all;
  }
  return cutTo(deeper);
};

/** How many names of a folder are shown, from generous to none. */
const NAMES_SHOWN = [Number.POSITIVE_INFINITY, 30, 12, 5, 2];

/** Many paths, by folder: `src/: a.ts b.ts`. */
export const summarizePaths = (
  paths: readonly string[],
  limits: EnrichLimits,
  title: string,
): { readonly text: string; readonly truncated: boolean } => {
  const isDotted = paths.every((path) => path === "." || path.startsWith("./"));
  const bare = isDotted ? paths.map((path) => (path === "." ? path : path.slice(2))) : paths;
  const folders = group(bare);
  const common = folders.size > 1 ? commonFolder([...folders.keys()]) : "";
  const spread =
    folders.size > 1 ? `, ${folders.size} folders${common === "" ? "" : `, all below ${common}`}` : "";
  const head = `[${title}${spread}]`;
  const rows = (maxNames: number): string[] =>
    [...folders].map(([dir, { names }]) => {
      const label = dir === "" ? "" : `${dir.slice(common.length) || "./"}: `;
      const shown = names.slice(0, maxNames).map(quoteName).join(" ");
      return `${label}${shown}${names.length > maxNames ? ` [+${names.length - maxNames}]` : ""}`;
    });
  const [text, way] = firstThatFits(
    NAMES_SHOWN.map((maxNames) => () => [head, ...rows(maxNames)].join("\n")),
    limits,
  );
  if (way < NAMES_SHOWN.length - 1) return { text, truncated: way > 0 };
  const counts = [...folders].map(([dir, { names }]) => [dir, names.length] as const);
  return { text: `${head}\n${summarizeFolders(counts, limits.maxTokens - 40)}`, truncated: true };
};
