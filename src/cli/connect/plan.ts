import { isDeepStrictEqual } from "node:util";
import { LlmcError } from "../../base/error.ts";
import { findClient } from "./clients.ts";
import { jsoncSnippet, readJsonc, removeJsonc, setJsonc } from "./jsonc-edit.ts";
import {
  buildEntry,
  type ConnectionRequest,
  DEFAULT_SERVER_NAME,
  locateTarget,
  type ServerEntry,
  type Target,
  type TargetRequest,
} from "./target.ts";
import { readToml, removeToml, setToml, tomlSnippet } from "./toml-edit.ts";

/** The part of host's `Disk` that this needs. */
export interface ConnectDisk {
  readText(path: string): Promise<string | undefined>;
  writeText(path: string, text: string, mode?: number): Promise<void>;
  exists(path: string): Promise<boolean>;
  /** The file behind links, and its mode. Without it, a link is replaced by a file with the mode `defaultMode`. */
  resolveFile?(path: string): Promise<{ readonly path: string; readonly mode: number } | undefined>;
}

export interface ConnectionPlan {
  readonly file: string;
  /** undefined: there is no such file yet. */
  readonly before: string | undefined;
  readonly after: string;
  readonly changed: boolean;
  /** undefined: the plan removes it. */
  readonly entry: ServerEntry | undefined;
  /** For a file that is new or whose mode is unknown. */
  readonly defaultMode: number;
}

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

const systemCode = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : undefined;

/** A file that may not be opened is a problem of the user's permissions, not an internal error. */
const withFile = async <T>(file: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    const code = systemCode(error);
    if (code === "EISDIR") throw new LlmcError("is_directory", `${file} is a folder.`, { cause: error });
    if (code !== "EACCES" && code !== "EPERM") throw error;
    throw new LlmcError("permission_denied", `${file} cannot be opened (${code}).`, { cause: error });
  }
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

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
  entry: ServerEntry | undefined,
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

const planEdit = async (
  target: Target,
  entry: ServerEntry | undefined,
  disk: Pick<ConnectDisk, "readText">,
): Promise<ConnectionPlan> => {
  const { file, path } = target;
  const format = FORMATS[target.client.format];
  const before = await withFile(file, () => disk.readText(file));
  // The reader replaces bytes that are not valid UTF-8 by this character: writing it back would lose them.
  if (before?.includes("\uFFFD") === true) refuse(file, "the file is not UTF-8 text");
  const mark = before?.startsWith(BOM) === true ? BOM : "";
  const text = (before ?? "").slice(mark.length);

  const old = divide(format.read(text, file), path);
  const plan = { file, before, entry, defaultMode: defaultMode(target) };
  if (isDeepStrictEqual(old.server, entry)) return { ...plan, after: before ?? "", changed: false };

  const edited = entry === undefined ? format.remove(text, file, path) : format.set(text, file, path, entry);
  if (!isOnlyChange(old.others, entry, () => divide(format.read(edited, file), path)))
    refuse(file, `"${path.join(".")}" is written in a way that cannot be changed safely`);
  return { ...plan, after: mark + edited, changed: true };
};

/** Reads the client's file and computes the change, without writing anything. */
export const planConnection = async (
  request: ConnectionRequest & { readonly disk: Pick<ConnectDisk, "readText"> },
): Promise<ConnectionPlan> => planEdit(locateTarget(request), buildEntry(request), request.disk);

export const planRemoval = async (
  request: TargetRequest & { readonly disk: Pick<ConnectDisk, "readText"> },
): Promise<ConnectionPlan> => planEdit(locateTarget(request), undefined, request.disk);

/** The entry to paste by hand. */
export const printEntry = (client: string, entry: ServerEntry, name = DEFAULT_SERVER_NAME): string => {
  const { format, serversKey } = findClient(client);
  return FORMATS[format].snippet([serversKey, name], entry);
};

export const applyConnection = async (plan: ConnectionPlan, disk: ConnectDisk): Promise<ConnectionResult> => {
  const { file, before, after } = plan;
  if (!plan.changed) return { file, written: false, backup: undefined };
  // Clients write their settings as well, and a person takes a while to confirm.
  if ((await disk.readText(file)) !== before)
    throw new LlmcError("busy", `${file} has changed since the change was shown.`, {
      hint: "Nothing was written. Run the command again.",
      details: { file },
    });

  return withFile(file, async () => {
    const actual = before === undefined ? undefined : await disk.resolveFile?.(file);
    const backup = `${file}.llmc-backup`;
    const needsBackup = before !== undefined && !(await disk.exists(backup));
    if (needsBackup) await disk.writeText(backup, before, 0o600);
    await disk.writeText(actual?.path ?? file, after, actual?.mode ?? plan.defaultMode);
    return { file, written: true, backup: needsBackup ? backup : undefined };
  });
};
