import { createHash } from "node:crypto";
import { lstatSync, readFileSync } from "node:fs";
import { isMissing } from "../../base/system-error.ts";
import { systemPath } from "./byte-path.ts";

const MAX_NOTED = 1000;

/** Start-up files are short; the content of a longer one is not compared, and it counts as somebody else's. */
const MAX_COMPARED_BYTES = 16 * 1024 * 1024;

interface Found {
  readonly isFolder: boolean;
  readonly size: bigint;
  readonly identity: string;
}

/**
 * The very file in the very state: everything that is done to a file changes its ctime, which no program can set. A
 * folder stays the same when files are put into it, since each of them is judged by itself.
 */
const findAt = (path: string): Found | undefined => {
  try {
    const stats = lstatSync(systemPath(path), { bigint: true });
    const isFolder = stats.isDirectory();
    const state = isFolder ? "folder" : stats.ctimeNs;
    return {
      isFolder,
      size: stats.size,
      identity: `${stats.dev}:${stats.ino}:${stats.birthtimeNs}:${state}`,
    };
  } catch (thrown) {
    if (isMissing(thrown)) return undefined;
    throw thrown;
  }
};

/** What a tool put there: a folder, a file with this hash, or something that it moved as it was. */
type Content = { readonly sha256: string } | "folder" | "moved";

const hasContent = (path: string, { isFolder, size }: Found, content: Content): boolean => {
  if (content === "moved") return true;
  if (content === "folder" || isFolder) return content === "folder" && isFolder;
  if (size > BigInt(MAX_COMPARED_BYTES)) return false;
  return (
    createHash("sha256")
      .update(readFileSync(systemPath(path)))
      .digest("hex") === content.sha256
  );
};

/** What the file tools wrote of late, so that it is not blamed on a command that ran at the same time. */
export type OwnWrites = ReturnType<typeof createOwnWrites>;

export const createOwnWrites = () => {
  const noted = new Map<string, { readonly identity: string; readonly content: Content }>();
  return {
    /**
     * Notes what is at a path now, which a tool has just put there. A command that has replaced it since then gains
     * nothing: what it put there has another hash.
     */
    note: (realPath: string, content: Content): void => {
      const found = findAt(realPath);
      noted.delete(realPath);
      if (found === undefined) return;
      noted.set(realPath, { identity: found.identity, content });
      const [oldest] = noted.keys();
      if (noted.size > MAX_NOTED && oldest !== undefined) noted.delete(oldest);
    },
    /** Whether the file or folder at a path is the one that a tool put there, and nobody has touched it since. */
    has: (realPath: string): boolean => {
      const written = noted.get(realPath);
      if (written === undefined) return false;
      try {
        const found = findAt(realPath);
        if (found === undefined || found.identity !== written.identity) return false;
        return hasContent(realPath, found, written.content);
      } catch {
        return false;
      }
    },
  };
};
