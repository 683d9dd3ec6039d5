import { type BigIntStats, fsync, lstat, lstatSync, realpathSync, statSync } from "node:fs";
import { posix } from "node:path";
import { promisify } from "node:util";
import { LlmcError } from "../../base/error.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { judgeWritten, pathDenied, resolveWords } from "../../policy/paths.ts";
import { writeDenied } from "../../policy/reach.ts";
import { explainFailure } from "../reach/explain-failure.ts";
import type { Located } from "../reach/located.ts";
import { changedMeanwhile, notADirectory } from "./failure.ts";
import type { WriteGround } from "./ground.ts";

const lstatAsync = promisify(lstat);
const fsyncAsync = promisify(fsync);

/** Something held until `close`, and the names it is locked by. */
export interface Found {
  readonly keys: readonly string[];
  close(): void;
}

/**
 * A name in a directory that was judged and is held: whatever happens to the path meanwhile, `at` leads into that very
 * directory. Without /proc `at` is only a path, and `requireInPlace` asks before every step whether it still leads there;
 * a swap between that question and the step cannot be excluded then.
 */
export interface Place extends Found {
  readonly words: string;
  readonly dir: Located;
  readonly name: string;
  /** For system calls. */
  readonly at: string;
  readonly realPath: string;
  /** What is there, links not followed; undefined: nothing. */
  readonly stats: BigIntStats | undefined;
}

export const requireInPlace = (dir: Located, words: string): void => {
  if (dir.isPinned) return;
  const isThere =
    realpathSync.native(dir.realPath) === dir.realPath && statSync(dir.realPath).ino === dir.stats.ino;
  if (!isThere) throw changedMeanwhile(words);
};

export const lookAt = (at: string): BigIntStats | undefined =>
  lstatSync(at, { bigint: true, throwIfNoEntry: false });

/** Neither replaced nor changed, as far as the system tells. A link made to it counts as a change too. */
export const isUnchanged = (now: BigIntStats | undefined, seen: BigIntStats): boolean =>
  now !== undefined &&
  now.dev === seen.dev &&
  now.ino === seen.ino &&
  now.size === seen.size &&
  now.mtimeNs === seen.mtimeNs &&
  now.ctimeNs === seen.ctimeNs;

/** So that a new or lost name survives a power cut. Some disks cannot, and some directories may not be read. */
export const syncDirectory = async (dir: Located): Promise<void> => {
  try {
    await fsyncAsync(await dir.openContent());
  } catch (error) {
    if (!["EINVAL", "EACCES", "ENOTSUP"].includes(systemErrorCode(error) ?? "")) throw error;
  }
};

const resolvePath = (words: string, { rules }: WriteGround): string => {
  const path = resolveWords(words, rules.workspace);
  const refusal = judgeWritten(path, rules);
  if (refusal !== undefined) throw pathDenied(words, refusal, rules);
  return path;
};

const noDirectory = (words: string, { hint }: LlmcError, cause: unknown): LlmcError =>
  new LlmcError("file_not_found", `The directory of ${quoteForMessage(words)} does not exist.`, {
    hint: hint?.includes("id you mean") ? `${hint} Otherwise make it first.` : "Make it first.",
    cause,
  });

const openDirectory = async (words: string, path: string, ground: WriteGround): Promise<Located> => {
  const judge = (realPath: string): void => ground.refuseOutside(words, realPath);
  const dir = await ground.locate(path, judge).catch(async (error: unknown) => {
    const explained = await explainFailure(error, words, path, ground);
    throw explained.code === "file_not_found" ? noDirectory(words, explained, error) : explained;
  });
  if (dir.stats.isDirectory()) return dir;
  dir.close();
  throw notADirectory(words);
};

/** The place of a name in a directory that is already held; closing it closes the directory. */
const placeIn = async (words: string, dir: Located, name: string, ground: WriteGround): Promise<Place> => {
  const realPath = posix.join(dir.realPath, name);
  const at = `${dir.at}/${name}`;
  ground.refuseTarget(words, realPath);
  const stats = await lstatAsync(at, { bigint: true }).catch((error: unknown) => {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  });
  return { words, dir, name, at, realPath, stats, keys: [realPath], close: () => dir.close() };
};

const openPlace = async (words: string, path: string, ground: WriteGround): Promise<Place> => {
  if (ground.isRoot(path)) throw writeDenied(words, "root");
  const dir = await openDirectory(words, posix.dirname(path), ground);
  try {
    return await placeIn(words, dir, posix.basename(path), ground);
  } catch (error) {
    dir.close();
    throw error;
  }
};

/** Why a link, or a directory of a new path, that is there leads to nothing. What exists outside must not show. */
export const explainDeadEnd = async (
  error: unknown,
  words: string,
  path: string,
  ground: WriteGround,
): Promise<LlmcError> => {
  const explained = await explainFailure(error, words, path, ground);
  return explained.code === "file_not_found" ? writeDenied(words, "link") : explained;
};

const leadsTo = async ({ words, at, realPath }: Place, ground: WriteGround): Promise<string> => {
  const judge = (real: string): void => ground.refuseOutside(words, real);
  const target = await ground.locate(at, judge).catch(async (error: unknown) => {
    throw await explainDeadEnd(error, words, realPath, ground);
  });
  target.close();
  return target.realPath;
};

// A real path has no link in it, so a second one means that somebody swaps them.
const MAX_HOPS = 8;

/** The place that the words stand for. `follow`: of what a link at that name leads to, otherwise of the link. */
export const findPlace = async (words: string, ground: WriteGround, follow: boolean): Promise<Place> => {
  let path = resolvePath(words, ground);
  for (let hops = 0; hops < MAX_HOPS; hops++) {
    const place = await openPlace(words, path, ground);
    if (!follow || place.stats?.isSymbolicLink() !== true) return place;
    try {
      path = await leadsTo(place, ground);
    } finally {
      place.close();
    }
  }
  throw changedMeanwhile(words);
};

/** Why there is nothing at a place, with a name that was likely meant. */
export const explainMissing = ({ words, realPath }: Place, ground: WriteGround): Promise<LlmcError> =>
  explainFailure(Object.assign(new Error("missing"), { code: "ENOENT" }), words, realPath, ground);

/** The deepest directory of a path that exists, and the names below it that do not. */
export interface Deepest extends Found {
  readonly words: string;
  readonly dir: Located;
  readonly missing: readonly string[];
  readonly realPath: string;
}

export const findDeepest = async (words: string, ground: WriteGround): Promise<Deepest> => {
  const path = resolvePath(words, ground);
  const judge = (realPath: string): void => ground.refuseOutside(words, realPath);
  const missing: string[] = [];
  for (let at = path; ; at = posix.dirname(at)) {
    try {
      const dir = await ground.locate(at, judge);
      const realPath = posix.join(dir.realPath, ...missing);
      return { words, dir, missing, realPath, keys: [realPath], close: () => dir.close() };
    } catch (error) {
      if (systemErrorCode(error) !== "ENOENT" || at === "/")
        throw await explainFailure(error, words, at, ground);
      missing.unshift(posix.basename(at));
    }
  }
};
