import { baseName } from "../../base/paths.ts";

/** A leading folder of sources (`src`, `lib`, `packages/core`) is no part of the path after an installation. */
const MAX_SOURCE_FOLDERS = 2;

/** `.pyc` and `.js` are what `.py` and `.ts` become. */
const stemOf = (file: string): string => file.replace(/\.\w+$/, "").toLowerCase();

const segmentsOf = (path: string): readonly string[] =>
  path
    .replaceAll("\\", "/")
    .split("/")
    .filter((segment) => segment !== "" && segment !== "." && segment !== "~");

/** How many segments two paths share at their ends; the extension of the file does not count. */
const sharedEnd = (a: readonly string[], b: readonly string[]): number => {
  let shared = 0;
  while (shared < a.length && shared < b.length) {
    const [left = "", right = ""] = [a.at(-1 - shared), b.at(-1 - shared)];
    const isSame = shared === 0 ? stemOf(left) === stemOf(right) : left.toLowerCase() === right.toLowerCase();
    if (!isSame) break;
    shared++;
  }
  return shared;
};

/**
 * The files of the workspace that paths from elsewhere mean: those of another machine, of an installed package, or only the
 * end of a path. A path of another project that ends the same way does not count.
 */
export const findPaths = (
  mentioned: readonly string[],
  files: Iterable<string>,
): ReadonlyMap<string, readonly string[]> => {
  const wanted = Map.groupBy(new Set(mentioned), (path) => stemOf(baseName(path.replaceAll("\\", "/"))));
  const best = new Map<string, { shared: number; paths: string[] }>();
  for (const file of files) {
    const asked = wanted.get(stemOf(baseName(file)));
    if (asked === undefined) continue;
    const own = segmentsOf(file);
    for (const path of asked) {
      const segments = segmentsOf(path);
      const shared = sharedEnd(segments, own);
      const isMeant =
        shared > 0 &&
        (shared === segments.length ||
          ((shared >= 2 || own.length === 1) && own.length - shared <= MAX_SOURCE_FOLDERS));
      const known = best.get(path);
      if (!isMeant || shared < (known?.shared ?? 0)) continue;
      if (known !== undefined && known.shared === shared) known.paths.push(file);
      else best.set(path, { shared, paths: [file] });
    }
  }
  return new Map([...best].map(([path, { paths }]) => [path, paths]));
};
