import type { HandleInfo } from "../host/state/handles/contract.ts";

/** A page of a handle where none was asked for: about 2,000 tokens. */
export const HANDLE_PAGE_BYTES = 8 * 1024;
/** Matching lines of a handle that are shown at once. */
export const MAX_HANDLE_HITS = 50;

const parentOf = (path: string): string => path.slice(0, Math.max(1, path.lastIndexOf("/")));

/** What a handle was made from: the file or folder, and the folder that it was searched, listed or read in. */
export const originOf = ({
  kind,
  source,
}: HandleInfo): { readonly kind: string; readonly path: string; readonly root: string } => {
  if (kind === "search_hits" || kind === "fs_list") return { kind, path: source, root: source };
  return {
    kind,
    path: source,
    root: kind === "file_content" && source.startsWith("/") ? parentOf(source) : ".",
  };
};

/** Hits of a search that a handle keeps with their texts; the others are references (host/search/stored-hits.ts). */
const HITS_WITH_TEXT = 10_000;

/** Said below a search in a handle that could not see everything; empty where it could. */
export const searchNote = ({
  kind,
  total_lines: lines = 0,
  total_hits: hits,
}: {
  readonly kind?: string | undefined;
  readonly total_lines?: number | undefined;
  readonly total_hits?: number | undefined;
}): string =>
  hits !== undefined && kind === "search_hits" && lines > HITS_WITH_TEXT
    ? `only the first ${HITS_WITH_TEXT} of ${lines} hits were searched; search the files for the rest`
    : "";
