import type { FileIndexer } from "./file-indexer.ts";
import type { IndexSettings } from "./settings.ts";

interface CachedFile {
  readonly stamp: string;
  readonly hash: string;
  readonly chars: number;
  readonly lines: readonly string[];
}

/** Questions on one subject quote the same files repeatedly. */
const MAX_CACHED_CHARS = 8 * 1024 * 1024;

/** Lines of files as they are on the disk at this moment. */
export const createCurrentLines = (indexer: FileIndexer, settings: () => IndexSettings) => {
  // Least recently used first.
  const cache = new Map<string, CachedFile>();
  let chars = 0;

  const evict = (path: string): void => {
    chars -= cache.get(path)?.chars ?? 0;
    cache.delete(path);
  };

  const store = (path: string, one: CachedFile): void => {
    evict(path);
    if (one.stamp === "" || one.chars > MAX_CACHED_CHARS / 4) return;
    cache.set(path, one);
    chars += one.chars;
    for (const oldest of cache.keys()) {
      if (chars <= MAX_CACHED_CHARS) break;
      evict(oldest);
    }
  };

  return {
    /** Whether a file still has the indexed content: by its stamp, and by its hash where the stamp differs. */
    isCurrent: async (
      path: string,
      { stamp, hash }: { readonly stamp: string; readonly hash: string },
      signal: AbortSignal | undefined,
    ): Promise<boolean> => {
      const { maxFileBytes } = settings();
      const read = await indexer.files(settings()).read(path, maxFileBytes, signal, stamp);
      return read.kind === "unchanged" || (read.kind === "text" && read.hash === hash);
    },
    /** Undefined where the content does not have this hash, or may not be shown. */
    read: async (
      path: string,
      hash: string,
      signal: AbortSignal | undefined,
    ): Promise<readonly string[] | undefined> => {
      const { maxFileBytes } = settings();
      const before = cache.get(path);
      const read = await indexer.files(settings()).read(path, maxFileBytes, signal, before?.stamp);
      if (read.kind === "unchanged" && before !== undefined) {
        store(path, before);
        return before.hash === hash ? before.lines : undefined;
      }
      if (read.kind !== "text") {
        evict(path);
        return undefined;
      }
      const lines = read.text.split("\n");
      store(path, { stamp: read.isRacy ? "" : read.stamp, hash: read.hash, chars: read.text.length, lines });
      return read.hash === hash ? lines : undefined;
    },
  };
};

export type CurrentLines = ReturnType<typeof createCurrentLines>;
