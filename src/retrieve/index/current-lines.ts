import type { Looker } from "./look.ts";
import type { IndexSettings } from "./settings.ts";

/** Lines of files as they are on the disk at this moment. */
export interface CurrentLines {
  /** Undefined where the content is another than the one with this hash, or may not be shown. */
  read(path: string, hash: string, signal: AbortSignal | undefined): Promise<readonly string[] | undefined>;
  /** Whether a file is still what is indexed of it: by its stamp, and by its content where that differs. */
  isCurrent(
    path: string,
    known: { readonly stamp: string; readonly hash: string },
    signal: AbortSignal | undefined,
  ): Promise<boolean>;
}

interface Held {
  readonly stamp: string;
  readonly hash: string;
  readonly chars: number;
  readonly lines: readonly string[];
}

/** Questions on one subject quote the same files again and again. */
const MAX_HELD_CHARS = 8 * 1024 * 1024;

export const createCurrentLines = (looker: Looker, settings: () => IndexSettings): CurrentLines => {
  // Oldest use first.
  const held = new Map<string, Held>();
  let chars = 0;

  const forget = (path: string): void => {
    chars -= held.get(path)?.chars ?? 0;
    held.delete(path);
  };

  const keep = (path: string, one: Held): void => {
    forget(path);
    if (one.stamp === "" || one.chars > MAX_HELD_CHARS / 4) return;
    held.set(path, one);
    chars += one.chars;
    for (const oldest of held.keys()) {
      if (chars <= MAX_HELD_CHARS) break;
      forget(oldest);
    }
  };

  return {
    isCurrent: async (path, { stamp, hash }, signal) => {
      const { maxFileBytes } = settings();
      const read = await looker.files(settings()).read(path, maxFileBytes, signal, stamp);
      return read.kind === "unchanged" || (read.kind === "text" && read.hash === hash);
    },
    read: async (path, hash, signal) => {
      const { maxFileBytes } = settings();
      const before = held.get(path);
      const read = await looker.files(settings()).read(path, maxFileBytes, signal, before?.stamp);
      if (read.kind === "unchanged" && before !== undefined) {
        keep(path, before);
        return before.hash === hash ? before.lines : undefined;
      }
      if (read.kind !== "text") {
        forget(path);
        return undefined;
      }
      const lines = read.text.split("\n");
      keep(path, { stamp: read.isRacy ? "" : read.stamp, hash: read.hash, chars: read.text.length, lines });
      return read.hash === hash ? lines : undefined;
    },
  };
};
