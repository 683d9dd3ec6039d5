import type { ListedFile, Listing } from "../../host/search/source-files.ts";
import type { LoadedFile } from "./loaded-index.ts";
import type { ListedWanted } from "./look-many.ts";

/** What has to be done to bring the index up to date with a listing. */
export interface Plan {
  readonly wanted: readonly ListedWanted[];
  readonly removed: readonly string[];
}

const isFresh = (known: LoadedFile, listed: ListedFile, maxFileBytes: number): boolean =>
  known.stamp === listed.stamp && (known.state === "large") === listed.size > maxFileBytes;

/** The stamps decide; files whose stamps cannot be trusted are looked at again. */
export const planScan = (
  listing: Listing,
  known: ReadonlyMap<string, LoadedFile>,
  { maxFileBytes, force }: { readonly maxFileBytes: number; readonly force: boolean },
): Plan => {
  const listed = new Set<string>();
  const wanted: ListedWanted[] = [];
  for (const file of listing.files) {
    listed.add(file.path);
    const before = known.get(file.path);
    if (!force && before !== undefined && isFresh(before, file, maxFileBytes)) continue;
    const hash = force || before?.state !== "indexed" ? undefined : before.hash;
    wanted.push({ ...file, hash });
  }
  // Of a listing that was cut nobody knows what is missing.
  const removed = listing.isCut ? [] : [...known.keys()].filter((path) => !listed.has(path));
  return { wanted, removed };
};
