import type { ListedFile, Listing } from "../../host/search/source-files.ts";
import type { ListedRequest } from "./batch-indexer.ts";
import type { LoadedFile } from "./loaded-index.ts";

/** What has to be done to bring the index up to date with a listing. */
export interface ScanPlan {
  readonly requests: readonly ListedRequest[];
  readonly removed: readonly string[];
}

const isFresh = (known: LoadedFile, listed: ListedFile, maxFileBytes: number): boolean =>
  known.stamp === listed.stamp && (known.state === "large") === listed.size > maxFileBytes;

/** The stamps decide; files whose stamps cannot be trusted are read again. */
export const planScan = (
  listing: Listing,
  known: ReadonlyMap<string, LoadedFile>,
  { maxFileBytes, force }: { readonly maxFileBytes: number; readonly force: boolean },
): ScanPlan => {
  const listed = new Set<string>();
  const requests: ListedRequest[] = [];
  for (const file of listing.files) {
    listed.add(file.path);
    const before = known.get(file.path);
    if (!force && before !== undefined && isFresh(before, file, maxFileBytes)) continue;
    const hash = force || before?.state !== "indexed" ? undefined : before.hash;
    requests.push({ ...file, hash });
  }
  // A listing that was cut does not say which files are gone.
  const removed = listing.isCut ? [] : [...known.keys()].filter((path) => !listed.has(path));
  return { requests, removed };
};
