import { LlmcError } from "../../base/error.ts";
import type { ErrorCode } from "../../base/error-table.ts";
import type { GlobMatch } from "../../policy/globs.ts";
import type { DirectoryEntry, DirectoryListing, Walk, WalkedEntry } from "./entries.ts";
import { createUnread } from "./unread.ts";

export interface WalkRequest {
  /** 0 lists the directory itself alone, 1 its entries' entries too, and so on. */
  readonly depth: number;
  readonly includeHidden: boolean;
  readonly matches: GlobMatch | undefined;
  /** Entries kept; the rest is only counted. */
  readonly maxEntries: number;
}

type ListDirectory = (
  path: string,
  signal: AbortSignal | undefined,
  options: { readonly details: boolean },
) => Promise<DirectoryListing>;

/** Gone or replaced since it was listed, or none of the caller's business. */
const EXPECTED: ReadonlySet<ErrorCode> = new Set(["file_not_found", "not_a_directory", "path_denied"]);

const isExpected = (error: unknown): boolean => error instanceof LlmcError && EXPECTED.has(error.code);

/** Lists a tree through the file port: each directory is judged when its turn comes, and links are not entered. */
export const walkTree = async (
  list: ListDirectory,
  requestedPath: string,
  request: WalkRequest,
  signal: AbortSignal | undefined,
): Promise<Walk> => {
  const top = await list(requestedPath, signal, { details: true });
  const entries: WalkedEntry[] = [];
  const unread = createUnread();
  let total = 0;

  const visit = async (listing: readonly DirectoryEntry[], prefix: string, depth: number): Promise<void> => {
    for (const entry of listing) {
      if (!request.includeHidden && entry.name.startsWith(".")) continue;
      const path = `${prefix}${entry.name}`;
      if (request.matches?.(path) ?? true) {
        total++;
        if (entries.length < request.maxEntries) entries.push({ ...entry, path });
      }
      if (entry.type !== "dir" || depth === 0) continue;
      // A directory that vanished or may not be entered is left out; the rest of the tree is still worth having.
      const inner = await list(`${requestedPath}/${path}`, signal, { details: true }).catch(
        (error: unknown) => {
          signal?.throwIfAborted();
          if (!isExpected(error)) unread.add(`${path}/`);
          return { entries: [] };
        },
      );
      await visit(inner.entries, `${path}/`, depth - 1);
    }
  };

  await visit(top.entries, "", request.depth);
  return { root: top.path, entries, total, unread: unread.finish() };
};
