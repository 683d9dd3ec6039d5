import type { GlobMatch } from "../../policy/globs.ts";
import type { DirectoryEntry, DirectoryListing, Walk, WalkedEntry } from "./entries.ts";

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

/** Lists a tree through the file port: each directory is judged when its turn comes, and links are not entered. */
export const walkTree = async (
  list: ListDirectory,
  requestedPath: string,
  request: WalkRequest,
  signal: AbortSignal | undefined,
): Promise<Walk> => {
  const top = await list(requestedPath, signal, { details: true });
  const entries: WalkedEntry[] = [];
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
      const inner = await list(`${requestedPath}/${path}`, signal, { details: true }).catch(() => {
        signal?.throwIfAborted();
        return { entries: [] };
      });
      await visit(inner.entries, `${path}/`, depth - 1);
    }
  };

  await visit(top.entries, "", request.depth);
  return { root: top.path, entries, total };
};
