import { createAccess } from "../reach/access.ts";
import type { CallerReach } from "../reach/reach.ts";
import type { Files } from "../read/files.ts";
import type { HandleOwner, Handles } from "../state/handles/handles.ts";
import { checkPattern } from "./args.ts";
import { type SearchParts, searchContent } from "./content.ts";
import type { Search } from "./contract.ts";
import { refuseClosedIgnoreFiles } from "./ignore-files.ts";
import { searchNames } from "./names.ts";
import { findRipgrep } from "./ripgrep.ts";

export type { ContentQuery, NameQuery, Search } from "./contract.ts";
export { createGrep } from "./grep-text.ts";
export { hitSearchTexts, renderHitLines } from "./lines.ts";

export interface SearchOptions {
  /** The same as that of the files. */
  readonly reach: CallerReach;
  /** All text comes through it: what ripgrep reads while directories are swapped for links is never shown. */
  readonly files: Pick<Files, "readLines">;
  readonly handles: Pick<Handles, "put">;
  /** Counting stops after this time; the answer says that totals are lower bounds. Read for each call. */
  readonly timeoutMs: () => number;
  /** By default, the bundled one. */
  readonly rgPath?: string;
}

export const createSearch = (options: SearchOptions): Search => {
  const access = createAccess(options.reach);
  const { files, handles, timeoutMs, rgPath } = options;
  const partsFor = (owner: HandleOwner): SearchParts => ({
    files,
    putHits: (root, lines) => handles.put(owner, "search_hits", root, lines),
    timeoutMs,
    rgPath: () => (rgPath === undefined ? findRipgrep() : Promise.resolve(rgPath)),
  });
  return {
    content: async (query, owner, signal) => {
      checkPattern(query.pattern);
      return access(query.root, signal, (root, reach) => {
        if (query.ignoreFiles) refuseClosedIgnoreFiles(root.realPath, reach);
        return searchContent(query, partsFor(owner), root, reach, signal);
      });
    },
    names: async (query, owner, signal) => {
      checkPattern(query.pattern);
      return access(query.root, signal, (root, reach) => {
        if (query.ignoreFiles) refuseClosedIgnoreFiles(root.realPath, reach);
        return searchNames(query, partsFor(owner), root, reach, signal);
      });
    },
  };
};
