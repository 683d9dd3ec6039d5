import { baseName } from "../../base/paths.ts";

/** A leading folder of sources (`src`, `lib`, `packages/core`) is no part of the path after an installation. */
const MAX_SOURCE_FOLDERS = 2;
/** A path that means more files, as `__init__.py` does, says nothing about any one of them. */
const MAX_MEANT = 40;

/** What sources become when they are built, which is what traces show. */
const SOURCE_EXTENSIONS: Readonly<Record<string, string>> = {
  pyc: "py",
  pyo: "py",
  js: "ts",
  jsx: "ts",
  mjs: "ts",
  cjs: "ts",
  tsx: "ts",
  mts: "ts",
  cts: "ts",
  class: "java",
};

/** The name of a file as it is compared: in lower case, built files as their sources. */
const fileKey = (path: string): string => {
  const name = baseName(path).toLowerCase();
  const dot = name.lastIndexOf(".");
  const extension = name.slice(dot + 1);
  return dot <= 0 ? name : `${name.slice(0, dot)}.${SOURCE_EXTENSIONS[extension] ?? extension}`;
};

/** A module is named without the extension of its file. */
const moduleKey = (path: string): string => fileKey(path).replace(/\.[^.]*$/, "");

const segmentsOf = (path: string): readonly string[] =>
  path
    .toLowerCase()
    .split("/")
    .filter((segment) => segment !== "" && segment !== "." && segment !== "~");

/** The same for all spellings of a path that mean the same files: `x.py`, `./x.py`, `.//X.py`. */
export const mentionKey = (path: string): string => segmentsOf(path).join("/");

/** How many folders two paths share at their ends, with the file itself, which is the same. */
const sharedEnd = (a: readonly string[], b: readonly string[]): number => {
  let shared = 1;
  while (shared < a.length && shared < b.length && a.at(-1 - shared) === b.at(-1 - shared)) shared++;
  return shared;
};

/** Whether a path from elsewhere means a file of the workspace, by the segments that they share. */
const isMeant = (shared: number, mentioned: number, own: number): boolean =>
  shared === mentioned || ((shared >= 2 || own === 1) && own - shared <= MAX_SOURCE_FOLDERS);

export interface MentionedFile {
  /** With slashes. */
  readonly path: string;
  /** The name of a module, without an extension. */
  readonly isModule?: boolean;
}

interface Wanted {
  readonly key: string;
  readonly segments: readonly string[];
  readonly isModule: boolean;
}

/** What is asked for, once for all its spellings, by the name that a file must have. */
const wantedBy = (mentioned: readonly MentionedFile[]): ReadonlyMap<string, readonly Wanted[]> => {
  const all = new Map(
    mentioned.map(({ path, isModule = false }) => {
      const key = mentionKey(path);
      return [key, { key, segments: segmentsOf(path), isModule }];
    }),
  );
  return Map.groupBy(all.values(), ({ key, isModule }) => (isModule ? baseName(key) : fileKey(key)));
};

/**
 * The files of the workspace that paths from elsewhere mean: those of another machine, of an installed package, or only the
 * end of a path. A file of another project whose path ends the same way is not meant. By `mentionKey`, and none for a path
 * that means too many.
 */
export const findPaths = (
  mentioned: readonly MentionedFile[],
  files: Iterable<string>,
): ReadonlyMap<string, readonly string[]> => {
  const wanted = wantedBy(mentioned);
  const best = new Map<string, { readonly shared: number; readonly paths: string[] }>();
  for (const file of files) {
    const asked = [
      ...(wanted.get(fileKey(file)) ?? []).filter(({ isModule }) => !isModule),
      ...(wanted.get(moduleKey(file)) ?? []).filter(({ isModule }) => isModule),
    ];
    if (asked.length === 0) continue;
    const own = segmentsOf(file);
    for (const { key, segments } of asked) {
      const shared = sharedEnd(segments, own);
      const known = best.get(key);
      if (!isMeant(shared, segments.length, own.length) || shared < (known?.shared ?? 0)) continue;
      if (known?.shared !== shared) best.set(key, { shared, paths: [file] });
      else if (known.paths.length <= MAX_MEANT) known.paths.push(file);
    }
  }
  return new Map(
    [...best].filter(([, { paths }]) => paths.length <= MAX_MEANT).map(([key, { paths }]) => [key, paths]),
  );
};
