import { hash } from "node:crypto";
import { lstatSync, readSync, type Stats } from "node:fs";
import { LlmcError } from "../../base/error.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { shownPath } from "../../policy/paths.ts";
import { type Access, createAccess } from "../reach/access.ts";
import type { CallerReach } from "../reach/reach.ts";
import { sniff } from "../read/text-slice.ts";
import { createUnread, type Unread } from "../read/unread.ts";
import { nameArgs } from "./args.ts";
import { refuseIfFailed } from "./content.ts";
import { orGone } from "./lines.ts";
import { createNameParser } from "./records.ts";
import { findRipgrep, runRipgrep } from "./ripgrep.ts";

export interface ListedFile {
  /** Relative to the workspace where inside it, absolute elsewhere. */
  readonly path: string;
  readonly size: number;
  /** Differs whenever the file was written or replaced, as far as the file system tells. */
  readonly stamp: string;
}

export type SourceRead =
  | {
      readonly kind: "text";
      readonly size: number;
      readonly stamp: string;
      /** The file was written so shortly before that a second change might leave the same stamp. */
      readonly isRacy: boolean;
      /** Of the bytes. */
      readonly hash: string;
      /** Without a byte order mark. */
      readonly text: string;
    }
  | {
      readonly kind: "binary" | "large" | "unreadable";
      readonly size: number;
      readonly stamp: string;
      readonly isRacy: boolean;
    }
  /** Its stamp has not changed, so it was not read. */
  | { readonly kind: "unchanged" }
  /** Not there, not a file, withheld or outside: nothing of it may be shown. */
  | { readonly kind: "none" };

type Seen = Pick<Extract<SourceRead, { kind: "text" }>, "size" | "stamp" | "isRacy">;

export type BytesRead =
  | (Seen & { readonly kind: "bytes"; readonly bytes: Buffer })
  | (Seen & { readonly kind: "large" | "unreadable" })
  | { readonly kind: "unchanged" }
  | { readonly kind: "none" };

/** The files that an index is made of: what ignore files and the denylist leave, below all roots. */
export interface SourceFiles {
  /** In order of their paths. `under` is a directory, given as paths are: only files below it. */
  list(signal?: AbortSignal, under?: { readonly path: string; readonly deep: boolean }): Promise<Listing>;
  read(path: string, maxBytes: number, signal?: AbortSignal, unlessStamp?: string): Promise<SourceRead>;
  /** The file as it is, whatever its format. */
  readBytes(path: string, maxBytes: number, signal?: AbortSignal): Promise<BytesRead>;
  /** Undefined: nothing is there that may be reached. */
  kindOf(path: string, signal?: AbortSignal): Promise<"file" | "dir" | undefined>;
}

export interface Listing {
  readonly files: readonly ListedFile[];
  /** Files whose names are not UTF-8, so that nothing can be read by them; shown with U+FFFD for what cannot be shown. */
  readonly unnamed: readonly string[];
  /** Files beyond the bound were left out. */
  readonly isCut: boolean;
  /** Directories whose files are missing. */
  readonly unread: Unread;
}

export interface SourceFilesOptions {
  readonly reach: CallerReach;
  readonly maxFiles: number;
}

/** Stands for bytes of a name that are not UTF-8. */
export const NOT_UTF8 = "\uFFFD";

const LIST_TIMEOUT_MS = 120_000;

// FAT counts in steps of two seconds; everything else is finer.
const RACY_MS = 2000;

const stampOf = ({ size, mtimeMs, ctimeMs, ino }: Stats): string => `${size}:${mtimeMs}:${ctimeMs}:${ino}`;

const isRacy = ({ mtimeMs, ctimeMs }: Stats, nowMs: number): boolean =>
  Math.max(mtimeMs, ctimeMs) > nowMs - RACY_MS;

const readWhole = (fd: number, sizeBytes: number, maxBytes: number): Buffer | undefined => {
  let buffer = Buffer.allocUnsafe(Math.min(sizeBytes, maxBytes) + 1);
  let length = 0;
  for (;;) {
    const count = readSync(fd, buffer, length, buffer.length - length, length);
    length += count;
    if (length > maxBytes) return undefined;
    if (count === 0) return buffer.subarray(0, length);
    // The file has grown since it was listed.
    if (length === buffer.length) buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length)]);
  }
};

const decode = (bytes: Buffer): string | undefined => {
  const form = sniff(bytes);
  if (form === "binary") return undefined;
  return new TextDecoder(form === "utf-8 with BOM" ? "utf-8" : form).decode(bytes);
};

const below = (dir: string, path: string): string => (dir === "." ? path : `${dir}/${path}`);

const isPermission = (error: unknown): boolean =>
  error instanceof LlmcError && error.code === "permission_denied";

const listingTooSlow = (): LlmcError =>
  new LlmcError(
    "timeout",
    `Listing the files of the workspace took longer than ${LIST_TIMEOUT_MS / 1000} s.`,
    {
      hint: "Leave large folders out with an ignore file.",
    },
  );

/** A file as it is, of those that the caller may read. */
const readBytes = async (
  access: Access,
  path: string,
  maxBytes: number,
  signal: AbortSignal | undefined,
  unlessStamp: string | undefined,
): Promise<BytesRead> => {
  const read = access(path, signal, async (located, { rules, refuseRead }): Promise<BytesRead> => {
    const { realPath, stats } = located;
    // Under another name it is another file's content: a link must not bring in what its target withholds.
    const isItself = shownPath(realPath, rules.workspace) === path;
    const isRefused = refuseRead(realPath, "content", stats) !== undefined;
    if (!isItself || !stats.isFile() || isRefused) return { kind: "none" };
    const seen = { size: stats.size, stamp: stampOf(stats), isRacy: isRacy(stats, Date.now()) };
    if (seen.stamp === unlessStamp) return { kind: "unchanged" };
    if (stats.size > maxBytes) return { kind: "large", ...seen };
    const fd = await located.openContent().catch((error: unknown) => {
      if (systemErrorCode(error) === "EACCES") return undefined;
      throw error;
    });
    if (fd === undefined) return { kind: "unreadable", ...seen };
    const bytes = readWhole(fd, stats.size, maxBytes);
    return bytes === undefined ? { kind: "large", ...seen } : { kind: "bytes", ...seen, bytes };
  });
  return (await orGone(read)) ?? { kind: "none" };
};

export const createSourceFiles = (options: SourceFilesOptions): SourceFiles => {
  const access = createAccess(options.reach);

  const listBelow = (
    requestedPath: string,
    isDeep: boolean,
    { known, unnamed }: { readonly known: Map<string, ListedFile>; readonly unnamed: Set<string> },
    onUnread: (path: string) => void,
    signal: AbortSignal | undefined,
  ): Promise<boolean> =>
    access(requestedPath, signal, async (root, { rules, refuseRead }) => {
      let isCut = false;
      const shownRoot = shownPath(root.realPath, rules.workspace);
      const take = (name: string): void => {
        const realPath = root.realPath === "/" ? `/${name}` : `${root.realPath}/${name}`;
        if (refuseRead(realPath, "content", "file") !== undefined) return;
        const path = below(shownRoot, name);
        if (known.has(path)) return;
        if (name.includes(NOT_UTF8)) {
          if (known.size + unnamed.size < options.maxFiles) unnamed.add(path);
          else isCut = true;
          return;
        }
        const stats = lstatSync(`${root.at}/${name}`, { throwIfNoEntry: false });
        if (stats?.isFile() !== true) return;
        if (known.size >= options.maxFiles) isCut = true;
        else known.set(path, { path, size: stats.size, stamp: stampOf(stats) });
      };
      if (root.stats.isFile()) return false;
      const args = nameArgs(
        { root: requestedPath, pattern: "*", fileGlob: undefined, ignoreFiles: true, maxResults: 0 },
        { args: isDeep ? [] : ["--max-depth=1"], isMeant: () => true },
        root.realPath,
      );
      const end = await runRipgrep({
        rgPath: await findRipgrep(),
        args,
        cwd: root.at,
        ignoreRoot: root.realPath,
        timeoutMs: LIST_TIMEOUT_MS,
        signal,
        onUnread: (name) => {
          const realPath = root.realPath === "/" ? `/${name}` : `${root.realPath}/${name}`;
          if (refuseRead(realPath, "name") === undefined) onUnread(below(shownRoot, name));
        },
        take: createNameParser((bytes) => take(bytes.toString("utf8", 2))),
      });
      // With an incomplete list, the missing files would look deleted.
      if (end.code === null) throw listingTooSlow();
      if (known.size === 0) await refuseIfFailed(end, "", root, LIST_TIMEOUT_MS);
      return isCut;
    });

  return {
    list: async (signal, under) => {
      const found = { known: new Map<string, ListedFile>(), unnamed: new Set<string>() };
      const unread = createUnread();
      let isCut = false;
      // A root that is gone adds nothing.
      for (const requestedPath of under === undefined ? options.reach.current().rules.roots : [under.path]) {
        const listing = listBelow(requestedPath, under?.deep ?? true, found, unread.add, signal).catch(
          (error: unknown) => {
            if (isPermission(error)) unread.add(requestedPath);
            throw error;
          },
        );
        isCut = (await orGone(listing)) === true || isCut;
      }
      const files = [...found.known.values()].sort((a, b) =>
        a.path < b.path ? -1 : a.path > b.path ? 1 : 0,
      );
      return { files, unnamed: [...found.unnamed].sort(), isCut, unread: unread.finish() };
    },

    kindOf: (path, signal) => orGone(access(path, signal, ({ stats }) => (stats.isFile() ? "file" : "dir"))),

    readBytes: (path, maxBytes, signal) => readBytes(access, path, maxBytes, signal, undefined),

    read: async (path, maxBytes, signal, unlessStamp) => {
      const found = await readBytes(access, path, maxBytes, signal, unlessStamp);
      if (found.kind !== "bytes") return found;
      const { bytes, size, stamp, isRacy } = found;
      const text = decode(bytes);
      if (text === undefined) return { kind: "binary", size, stamp, isRacy };
      return { kind: "text", size, stamp, isRacy, hash: hash("sha256", bytes, "base64url"), text };
    },
  };
};
