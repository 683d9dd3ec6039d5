import { type BigIntStats, lstatSync, realpathSync, statSync } from "node:fs";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { pathDenied, resolveRequestedPath } from "../../policy/paths.ts";
import { writeDenied } from "../../policy/reach.ts";
import { fsyncAsync, lstatAsync } from "../reach/descriptor.ts";
import { explainFailure } from "../reach/explain-failure.ts";
import type { Located } from "../reach/located.ts";
import { changedMeanwhile, notADirectory } from "./failure.ts";
import type { WriteReach } from "./write-reach.ts";

/** Something held until `close`, and the names it is locked by. */
export interface Lockable {
  readonly keys: readonly string[];
  close(): void;
}

/**
 * A name in a directory that was judged and is held: whatever happens to the path meanwhile, `at` leads into that very
 * directory. Without /proc `at` is only a path, and `requireInPlace` asks before every step whether it still leads there;
 * a swap between that question and the step cannot be excluded then.
 */
export interface WriteTarget extends Lockable {
  readonly requestedPath: string;
  readonly dir: Located;
  readonly name: string;
  /** For system calls. */
  readonly at: string;
  readonly realPath: string;
  /** What is there, links not followed; undefined: nothing. */
  readonly stats: BigIntStats | undefined;
}

export const requireUnmoved = (dir: Located, requestedPath: string): void => {
  if (dir.isPinned) return;
  const isThere =
    realpathSync.native(dir.realPath) === dir.realPath && statSync(dir.realPath).ino === dir.stats.ino;
  if (!isThere) throw changedMeanwhile(requestedPath);
};

export const statOf = (at: string): BigIntStats | undefined =>
  lstatSync(at, { bigint: true, throwIfNoEntry: false });

/** Neither replaced nor changed, as far as the system tells. A link made to it counts as a change too. */
export const isUnchanged = (now: BigIntStats | undefined, seen: BigIntStats): boolean =>
  now !== undefined &&
  now.dev === seen.dev &&
  now.ino === seen.ino &&
  now.size === seen.size &&
  now.mtimeNs === seen.mtimeNs &&
  now.ctimeNs === seen.ctimeNs;

/**
 * Makes a created or removed name survive a power failure. Some disks do not support this, and some directories cannot
 * be opened.
 */
export const syncDirectory = async (dir: Located): Promise<void> => {
  try {
    await fsyncAsync(await dir.openContent());
  } catch (error) {
    if (!["EINVAL", "EACCES", "ENOTSUP"].includes(systemErrorCode(error) ?? "")) throw error;
  }
};

const resolvePath = (requestedPath: string, { rules, refuseWritten }: WriteReach): string => {
  const path = resolveRequestedPath(requestedPath, rules.workspace);
  const refusal = refuseWritten(path);
  if (refusal !== undefined) throw pathDenied(requestedPath, refusal, rules);
  return path;
};

export const noDirectory = (requestedPath: string, hint?: string, cause?: unknown): LlmcError =>
  new LlmcError("file_not_found", `The directory of ${quoteForMessage(requestedPath)} does not exist.`, {
    hint: hint?.includes("id you mean") ? `${hint} Otherwise make it first.` : "Make it first.",
    cause,
  });

const openDirectory = async (requestedPath: string, path: string, reach: WriteReach): Promise<Located> => {
  const judge = (realPath: string): void => reach.refuseOutside(requestedPath, realPath);
  const dir = await reach.locate(path, judge).catch(async (error: unknown) => {
    const explained = await explainFailure(error, requestedPath, path, reach);
    throw explained.code === "file_not_found" ? noDirectory(requestedPath, explained.hint, error) : explained;
  });
  if (dir.stats.isDirectory()) return dir;
  dir.close();
  throw notADirectory(requestedPath);
};

/** The target of a name in a directory that is already held; closing it closes the directory. */
const targetIn = async (
  requestedPath: string,
  dir: Located,
  name: string,
  reach: WriteReach,
): Promise<WriteTarget> => {
  const realPath = posix.join(dir.realPath, name);
  const at = `${dir.at}/${name}`;
  reach.refuseTarget(requestedPath, realPath);
  const stats = await lstatAsync(at, { bigint: true }).catch((error: unknown) => {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  });
  return { requestedPath, dir, name, at, realPath, stats, keys: [realPath], close: () => dir.close() };
};

const openTarget = async (requestedPath: string, path: string, reach: WriteReach): Promise<WriteTarget> => {
  if (reach.isRoot(path)) throw writeDenied(requestedPath, "root");
  const dir = await openDirectory(requestedPath, posix.dirname(path), reach);
  try {
    return await targetIn(requestedPath, dir, posix.basename(path), reach);
  } catch (error) {
    dir.close();
    throw error;
  }
};

/**
 * Explains why an existing link or parent directory cannot be followed, without revealing what exists outside the
 * roots.
 */
export const explainDeadEnd = async (
  error: unknown,
  requestedPath: string,
  path: string,
  reach: WriteReach,
): Promise<LlmcError> => {
  const explained = await explainFailure(error, requestedPath, path, reach);
  return explained.code === "file_not_found" ? writeDenied(requestedPath, "link") : explained;
};

const resolveTarget = async (
  { requestedPath, at, realPath }: WriteTarget,
  reach: WriteReach,
): Promise<string> => {
  const judge = (real: string): void => reach.refuseOutside(requestedPath, real);
  const target = await reach.locate(at, judge).catch(async (error: unknown) => {
    throw await explainDeadEnd(error, requestedPath, realPath, reach);
  });
  target.close();
  return target.realPath;
};

// A real path has no link in it, so a second one means that somebody swaps them.
const MAX_HOPS = 8;

/** The target of a requested path. With `follow` it is what a link at that name leads to, otherwise the link itself. */
export const findTarget = async (
  requestedPath: string,
  reach: WriteReach,
  follow: boolean,
): Promise<WriteTarget> => {
  let path = resolvePath(requestedPath, reach);
  for (let hops = 0; hops < MAX_HOPS; hops++) {
    const target = await openTarget(requestedPath, path, reach);
    if (!follow || target.stats?.isSymbolicLink() !== true) return target;
    try {
      path = await resolveTarget(target, reach);
    } finally {
      target.close();
    }
  }
  throw changedMeanwhile(requestedPath);
};

/** Why there is nothing at a target, with a name that was likely meant. */
export const explainMissing = (
  { requestedPath, realPath }: WriteTarget,
  reach: WriteReach,
): Promise<LlmcError> =>
  explainFailure(Object.assign(new Error("missing"), { code: "ENOENT" }), requestedPath, realPath, reach);

/** The deepest directory of a path that exists, and the names below it that do not. */
export interface ExistingParent extends Lockable {
  readonly requestedPath: string;
  readonly dir: Located;
  readonly missing: readonly string[];
  readonly realPath: string;
}

export const findExistingParent = async (
  requestedPath: string,
  reach: WriteReach,
): Promise<ExistingParent> => {
  const path = resolvePath(requestedPath, reach);
  const judge = (realPath: string): void => reach.refuseOutside(requestedPath, realPath);
  const missing: string[] = [];
  for (let at = path; ; at = posix.dirname(at)) {
    try {
      const dir = await reach.locate(at, judge);
      const realPath = posix.join(dir.realPath, ...missing);
      return { requestedPath, dir, missing, realPath, keys: [realPath], close: () => dir.close() };
    } catch (error) {
      if (systemErrorCode(error) !== "ENOENT" || at === "/")
        throw await explainFailure(error, requestedPath, at, reach);
      missing.unshift(posix.basename(at));
    }
  }
};
