import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { LlmcError } from "../../base/error.ts";
import type { ErrorCode } from "../../base/error-table.ts";
import { isRecord } from "../../base/is-record.ts";
import { isInside } from "../../base/paths.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { findClient } from "./clients.ts";
import { jsoncSnippet, readJsonc, removeJsonc, setJsonc } from "./jsonc-edit.ts";
import {
  buildEntry,
  type ConnectionRequest,
  DEFAULT_SERVER_NAME,
  locateTarget,
  type Target,
  type TargetRequest,
} from "./target.ts";
import { readToml, removeToml, setToml, tomlSnippet } from "./toml-edit.ts";

/** The part of host's `Disk` that this needs. */
export interface ConnectDisk {
  readText(path: string): Promise<string | undefined>;
  writeText(path: string, text: string, mode?: number): Promise<void>;
  exists(path: string): Promise<boolean>;
  removeFile(path: string): Promise<void>;
  /** Removes folders that are empty, from this one upwards; `end` and what is above it stay. */
  removeEmptyFolders(path: string, end: string): Promise<void>;
  /** The file behind links, and its mode. Without it, a link is replaced by a file with the mode `defaultMode`. */
  resolveFile?(path: string): Promise<{ readonly path: string; readonly mode: number } | undefined>;
  /** Where a path leads, or will lead once its file is made. Without it, there are no links. */
  realOrFuture?(path: string): string;
}

export interface ConnectionPlan {
  readonly file: string;
  /** undefined: there is no such file yet. */
  readonly before: string | undefined;
  /** undefined: the file goes, because this program made it and nothing else is in it. */
  readonly after: string | undefined;
  readonly changed: boolean;
  /** undefined: the plan removes it. */
  readonly entry: object | undefined;
  /** For a file that is new or whose mode is unknown. */
  readonly defaultMode: number;
  /** Where empty folders end to be removed together with the file. */
  readonly folder: string;
}

type Reading = Pick<ConnectDisk, "readText" | "exists" | "realOrFuture">;

export interface ConnectionResult {
  readonly file: string;
  readonly written: boolean;
  /** The copy made now of the file as it was before this program first changed it. */
  readonly backup: string | undefined;
}

const FORMATS = {
  json: { read: readJsonc, set: setJsonc, remove: removeJsonc, snippet: jsoncSnippet },
  toml: { read: readToml, set: setToml, remove: removeToml, snippet: tomlSnippet },
} as const;

/** User files may hold tokens (~/.claude.json does); a project's file is shared with the project. */
const defaultMode = ({ scope }: Target): number => (scope === "user" ? 0o600 : 0o644);

const BOM = "\uFEFF";

const refuse = (file: string, reason: string): never => {
  throw new LlmcError("invalid_args", `${file}: ${reason}.`, {
    hint: "Nothing was written. Add or remove the entry by hand.",
    details: { file },
  });
};

/** What the system's refusal of a file means; ENOTREG and EFBIG are the disk's own. */
const REFUSALS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  EISDIR: ["is_directory", "is a folder, where the client's settings should be"],
  ENOTREG: ["path_denied", "is not a regular file"],
  ENOTDIR: ["not_a_directory", "lies below a file that should be a folder"],
  // The file may be missing, but its folders are made: only a link in their place cannot be followed.
  ENOENT: ["file_not_found", "lies behind a link that leads to nothing"],
  EEXIST: ["file_not_found", "lies behind a link that leads to nothing"],
  ELOOP: ["path_denied", "is a link that leads back to itself"],
  EFBIG: ["file_too_large", "is larger than 1 MiB"],
  EACCES: ["permission_denied", "may not be read or written (EACCES)"],
  EPERM: ["permission_denied", "may not be read or written (EPERM)"],
  EROFS: ["permission_denied", "is on a read-only file system (EROFS)"],
};

/** A client's file that cannot be used is the user's to put right, not an internal error. */
const withFile = async <T>(file: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    const [code, reason] = REFUSALS[systemErrorCode(error) ?? ""] ?? [];
    if (code === undefined) throw error;
    throw new LlmcError(code, `${file} ${reason}.`, {
      hint: "It is as it was. Put it right and run the command again, or add the entry that --print shows by hand.",
      details: { file },
      cause: error,
    });
  }
};

/** Divides settings into the server at the path and everything else. */
const divide = (settings: unknown, [outer, inner]: Target["path"]) => {
  const root = isRecord(settings) ? settings : {};
  const servers = Object.hasOwn(root, outer) ? root[outer] : undefined;
  if (!isRecord(servers)) return { server: undefined, others: root };
  const pick = (from: Record<string, unknown>, dropped: string) =>
    Object.fromEntries(Object.entries(from).filter(([key]) => key !== dropped));
  const rest = pick(servers, inner);
  const others = pick(root, outer);
  return {
    server: Object.hasOwn(servers, inner) ? servers[inner] : undefined,
    // To every client an empty object of servers is the same as none.
    others:
      Object.keys(rest).length === 0
        ? others
        : Object.fromEntries([...Object.entries(others), [outer, rest]]),
  };
};

/** Checks that nothing else changed; a layout that the editor cannot handle fails here. */
const isOnlyChange = (
  others: unknown,
  entry: object | undefined,
  readAgain: () => ReturnType<typeof divide>,
): boolean => {
  try {
    const now = readAgain();
    return isDeepStrictEqual(now.server, entry) && isDeepStrictEqual(now.others, others);
  } catch (error) {
    // The edited text does not parse. The line numbers in the message are not those of the file.
    if (error instanceof LlmcError) return false;
    throw error;
  }
};

/** The client's file: the one that exists, or the first. */
const chooseFile = async ({ files }: Target, disk: Reading): Promise<string> => {
  for (const file of files) if (await withFile(file, () => disk.exists(file))) return file;
  return files[0];
};

/**
 * A project's file, or its folder, may be a link that somebody else made: what it leads to is not copied into the project,
 * changed or created.
 */
const refuseOutside = (file: string, workspace: string, { realOrFuture }: Reading): Promise<void> =>
  withFile(file, async () => {
    if (realOrFuture !== undefined && !isInside(realOrFuture(file), realOrFuture(workspace)))
      refuse(file, "a link on the way leaves the project");
  });

const backupOf = (file: string): string => `${file}.llmc-backup`;

interface Settings {
  readonly target: Target;
  readonly file: string;
  /** Without the byte order mark. */
  readonly text: string;
  readonly others: unknown;
}

const hasServers = (settings: unknown, { path: [outer] }: Target): boolean =>
  isRecord(settings) && Object.hasOwn(settings, outer);

/** The text without the entry; undefined if nothing but the entry was in a file that this program made. */
const textWithoutEntry = (
  { target, file, text, others }: Settings,
  original: string | undefined,
): string | undefined => {
  const format = FORMATS[target.client.format];
  if (original === undefined) {
    const isEmpty = Object.keys(Object(others)).length === 0;
    return isEmpty ? undefined : format.remove(text, file, target.path, true);
  }
  const [mark, rest] = splitMark(original);
  const before = format.read(rest, backupOf(file));
  const was = divide(before, target.path);
  if (was.server === undefined && isDeepStrictEqual(was.others, others)) return mark + rest;
  return format.remove(text, file, target.path, !hasServers(before, target));
};

const splitMark = (text: string): readonly [string, string] =>
  text.startsWith(BOM) ? [BOM, text.slice(BOM.length)] : ["", text];

const planEdit = async (
  request: TargetRequest,
  entry: object | undefined,
  disk: Reading,
): Promise<ConnectionPlan> => {
  const target = locateTarget(request);
  const { path, scope } = target;
  const file = await chooseFile(target, disk);
  if (scope === "project") await refuseOutside(file, request.workspace, disk);
  const format = FORMATS[target.client.format];
  const before = await withFile(file, () => disk.readText(file));
  // The reader replaces bytes that are not valid UTF-8 by this character: writing it back would lose them.
  if (before?.includes("\uFFFD") === true) refuse(file, "the file is not UTF-8 text");
  const [mark, text] = splitMark(before ?? "");

  const old = divide(format.read(text, file), path);
  const folder = scope === "project" ? request.workspace : request.home;
  const plan = { file, before, entry, defaultMode: defaultMode(target), folder };
  if (isDeepStrictEqual(old.server, entry)) return { ...plan, after: before ?? "", changed: false };

  const edited =
    entry === undefined
      ? textWithoutEntry({ target, file, text, others: old.others }, await readBackup(file, disk))
      : format.set(text, file, path, entry);
  if (edited === undefined) return { ...plan, after: undefined, changed: true };
  const [, content] = splitMark(edited);
  if (!isOnlyChange(old.others, entry, () => divide(format.read(content, file), path)))
    refuse(file, `"${path.join(".")}" is written in a way that cannot be changed safely`);
  return { ...plan, after: mark + content, changed: true };
};

/** The file as it was before this program first changed it. */
const readBackup = (file: string, disk: Reading): Promise<string | undefined> =>
  withFile(backupOf(file), () => disk.readText(backupOf(file)));

/** Reads the client's file and computes the change, without writing anything. */
export const planConnection = async (
  request: ConnectionRequest & { readonly disk: Reading },
): Promise<ConnectionPlan> => planEdit(request, buildEntry(request), request.disk);

export const planRemoval = async (
  request: TargetRequest & { readonly disk: Reading },
): Promise<ConnectionPlan> => planEdit(request, undefined, request.disk);

/** The entry to paste by hand. */
export const printEntry = (client: string, entry: object, name = DEFAULT_SERVER_NAME): string => {
  const { format, serversKey } = findClient(client);
  return FORMATS[format].snippet([serversKey, name], entry);
};

/** Writes the new text behind links, with the old mode; the first time with a copy of the old text beside it. */
const write = async (plan: ConnectionPlan, after: string, disk: ConnectDisk): Promise<string | undefined> => {
  const { file, before, entry } = plan;
  const actual = before === undefined ? undefined : await disk.resolveFile?.(file);
  const backup = backupOf(file);
  const needsBackup = before !== undefined && entry !== undefined && !(await disk.exists(backup));
  if (needsBackup) await disk.writeText(backup, before, 0o600);
  await disk.writeText(actual?.path ?? file, after, actual?.mode ?? plan.defaultMode);
  return needsBackup ? backup : undefined;
};

export const applyConnection = async (plan: ConnectionPlan, disk: ConnectDisk): Promise<ConnectionResult> => {
  const { file, before, after } = plan;
  if (!plan.changed) return { file, written: false, backup: undefined };
  // Clients write their settings as well, and a person takes a while to confirm.
  if ((await withFile(file, () => disk.readText(file))) !== before)
    throw new LlmcError("busy", `${file} has changed since the change was shown.`, {
      hint: "Nothing was written. Run the command again.",
      details: { file },
    });

  return withFile(file, async () => {
    const backup = after === undefined ? undefined : await write(plan, after, disk);
    // Removing leaves nothing behind that connecting made.
    if (after === undefined) {
      await disk.removeFile(file);
      await disk.removeEmptyFolders(dirname(file), plan.folder);
    }
    if (plan.entry === undefined) await disk.removeFile(backupOf(file));
    return { file, written: true, backup };
  });
};
