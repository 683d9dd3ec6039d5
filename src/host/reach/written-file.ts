import { createHash } from "node:crypto";
import { lstatSync, readFileSync } from "node:fs";
import { isMissing } from "../../base/system-error.ts";
import { systemPath } from "./byte-path.ts";

/** What was put at a path: a folder, a file with this hash, or something that was moved as it was. */
export type WrittenContent = { readonly sha256: string } | "folder" | "moved";

/** The very file that was written, in the state in which it was left. */
export interface WrittenFile {
  readonly identity: string;
  readonly content: WrittenContent;
}

/** Start-up files are short; the content of a longer one is not compared, and it counts as somebody else's. */
const MAX_COMPARED_BYTES = 16 * 1024 * 1024;

interface Found {
  readonly isFolder: boolean;
  readonly size: bigint;
  readonly identity: string;
}

/**
 * Everything that is done to a file changes its ctime, which no program can set. A folder stays the same when files are
 * put into it, since each of them is judged by itself.
 */
const findAt = (path: string): Found | undefined => {
  try {
    const stats = lstatSync(systemPath(path), { bigint: true });
    const isFolder = stats.isDirectory();
    const state = isFolder ? "folder" : stats.ctimeNs;
    const identity = `${stats.dev}:${stats.ino}:${stats.birthtimeNs}:${state}`;
    return { isFolder, size: stats.size, identity };
  } catch (thrown) {
    if (isMissing(thrown)) return undefined;
    throw thrown;
  }
};

export const sha256Of = (content: string | Buffer): string =>
  createHash("sha256").update(content).digest("hex");

const hasContent = (path: string, { isFolder, size }: Found, content: WrittenContent): boolean => {
  if (content === "moved") return true;
  if (content === "folder" || isFolder) return content === "folder" && isFolder;
  if (size > BigInt(MAX_COMPARED_BYTES)) return false;
  return sha256Of(readFileSync(systemPath(path))) === content.sha256;
};

/** What is at a path right after it was written; undefined where nothing is. */
export const writtenAt = (path: string, content: WrittenContent): WrittenFile | undefined => {
  const found = findAt(path);
  return found === undefined ? undefined : { identity: found.identity, content };
};

/** Whether what was written is still there, and nobody has touched it since. */
export const wasLeftAlone = (path: string, written: WrittenFile | undefined): boolean => {
  if (written === undefined) return false;
  try {
    const found = findAt(path);
    return (
      found !== undefined && found.identity === written.identity && hasContent(path, found, written.content)
    );
  } catch {
    return false;
  }
};
