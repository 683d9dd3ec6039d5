import { type BigIntStats, fstatSync } from "node:fs";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { insideRoots, pathDenied, resolveRequestedPath, shownPath } from "../../policy/paths.ts";
import { copyDenied, judgeWrite } from "../../policy/reach.ts";
import { translate } from "../reach/explain-failure.ts";
import { readWhole } from "./bytes.ts";
import type { Copied, FileChange } from "./contract.ts";
import { alreadyExists, changedMeanwhile, translateWrite } from "./failure.ts";
import { MAX_TOTAL_BYTES, refuseTooMany, tooLarge } from "./plan.ts";
import { scanTree } from "./tree.ts";
import { RETRY, type WriteContext } from "./write-context.ts";
import { readHeld } from "./write-file.ts";
import type { WriteReach } from "./write-reach.ts";
import { explainMissing, findExistingParent, findTarget, type WriteTarget } from "./write-target.ts";

interface CopyPlan extends Copied {
  /** What makes the copy, for `applyChanges`. */
  readonly changes: readonly FileChange[];
}

interface Copy {
  readonly source: string;
  readonly target: string;
  readonly overwrite: boolean;
  readonly reach: WriteReach;
  readonly signal: AbortSignal | undefined;
}

const PERMISSIONS = 0o777n;

/** Reads one file whole, as it was at one moment. Its content must be the caller's to know. */
const readSource = async (
  file: WriteTarget,
  stats: BigIntStats,
  maxBytes: number,
  { reach, signal }: Copy,
): Promise<Buffer> => {
  if (reach.refuseRead(file.realPath, "content") !== undefined)
    throw copyDenied(file.requestedPath, "secret");
  if (reach.isProtectedFile(stats)) throw copyDenied(file.requestedPath, "config");
  if (stats.size > BigInt(maxBytes)) throw tooLarge();
  const bytes = await readHeld(file, stats, (fd) => {
    // A secret may have a second, harmless name.
    if (reach.refuseRead(file.realPath, "content", fstatSync(fd)) !== undefined)
      throw copyDenied(file.requestedPath, "secret");
    return readWhole(fd, Number(stats.size), signal);
  });
  if (bytes === RETRY) throw changedMeanwhile(file.requestedPath);
  return bytes;
};

const pointless = (path: string, why: string): LlmcError =>
  new LlmcError("invalid_args", `${quoteForMessage(path)} ${why}.`, { hint: "Name another target." });

/** The real path of the target, which must be elsewhere and, for a directory, free. */
const checkTarget = async (from: WriteTarget, isDirectory: boolean, copy: Copy): Promise<string> => {
  const { realPath, missing, close } = await findExistingParent(copy.target, copy.reach);
  close();
  if (realPath === from.realPath) throw pointless(copy.source, "cannot be copied onto itself");
  if (isDirectory && insideRoots(realPath, [from.realPath]))
    throw pointless(copy.source, "cannot be copied into itself");
  if (missing.length === 0 && (isDirectory || !copy.overwrite)) {
    const hint = isDirectory
      ? "A directory is copied to a new name only."
      : "Choose another name, or set overwrite.";
    throw alreadyExists(copy.target, hint);
  }
  return realPath;
};

/** Every file below a directory, and every directory without entries, relative to it. */
const listTree = async (from: WriteTarget, signal: AbortSignal | undefined) => {
  const files: string[] = [];
  const directories = new Set([""]);
  let skipped = 0;
  await scanTree(
    from,
    ({ path, isFile, isDirectory }) => {
      const parent = posix.dirname(path);
      directories.delete(parent === "." ? "" : parent);
      if (isDirectory) directories.add(path);
      else if (isFile) files.push(path);
      else skipped++;
      refuseTooMany(files.length + directories.size);
    },
    signal,
  );
  return { files, directories: [...directories], skipped };
};

/** Judges the source like something that is changed, and speaks of it as of something that is read. */
const findSource = (requestedPath: string, reach: WriteReach): Promise<WriteTarget> => {
  const { reachRules, refuseOutside } = reach;
  if (reach.isRoot(resolveRequestedPath(requestedPath, reach.rules.workspace)))
    throw copyDenied(requestedPath, "root");
  const refuseTarget: WriteReach["refuseTarget"] = (path, realPath) => {
    refuseOutside(path, realPath);
    const refusal = judgeWrite(realPath, "tools", reachRules, "create");
    if (refusal !== undefined) throw copyDenied(path, refusal);
  };
  return findTarget(requestedPath, { ...reach, refuseTarget }, true);
};

const isForbidden = (error: unknown): boolean => ["EACCES", "EPERM"].includes(systemErrorCode(error) ?? "");

const translateSource = (error: unknown, path: string): LlmcError =>
  isForbidden(error) ? translate(error, path) : translateWrite(error, path);

const copyOf = async (
  from: string,
  to: string,
  maxBytes: number,
  copy: Copy,
): Promise<FileChange & { kind: "put" }> => {
  const file = await findSource(from, copy.reach);
  try {
    const { stats } = file;
    if (stats === undefined) throw await explainMissing(file, copy.reach);
    if (!stats.isFile()) throw pathDenied(from, "kind", copy.reach.rules);
    const bytes = await readSource(file, stats, maxBytes, copy);
    const mode = Number(stats.mode & PERMISSIONS);
    return { kind: "put", path: to, bytes, mode, overwrite: copy.overwrite };
  } catch (error) {
    throw translateSource(error, from);
  } finally {
    file.close();
  }
};

const planTree = async (from: WriteTarget, copy: Copy): Promise<Pick<CopyPlan, "changes" | "skipped">> => {
  const { files, directories, skipped } = await listTree(from, copy.signal);
  const changes: FileChange[] = directories.map((path) => ({
    kind: "directory",
    path: posix.join(copy.target, path),
  }));
  let left = MAX_TOTAL_BYTES;
  for (const path of files) {
    const put = await copyOf(posix.join(copy.source, path), posix.join(copy.target, path), left, copy);
    left -= put.bytes.length;
    changes.push(put);
  }
  return { changes, skipped };
};

/**
 * Reads everything that is to be copied, within the limits of a change of many files. The source is judged like
 * something that is changed: what no tool may change or see is not copied either.
 */
export const planCopy = async (
  context: WriteContext,
  source: string,
  target: string,
  { overwrite }: { readonly overwrite: boolean },
  signal: AbortSignal | undefined,
): Promise<CopyPlan> => {
  const reach = context.currentReach();
  const copy: Copy = { source, target, overwrite, reach, signal };
  const from = await findSource(source, reach);
  try {
    const isDirectory = from.stats?.isDirectory() === true;
    const realTarget = await checkTarget(from, isDirectory, copy);
    const { changes, skipped } = isDirectory
      ? await planTree(from, copy)
      : { changes: [await copyOf(source, target, MAX_TOTAL_BYTES, copy)], skipped: 0 };
    const puts = changes.filter((change) => change.kind === "put");
    return {
      changes,
      source: shownPath(from.realPath, reach.rules.workspace),
      target: shownPath(realTarget, reach.rules.workspace),
      files: puts.length,
      bytes: puts.reduce((total, { bytes }) => total + bytes.length, 0),
      skipped,
    };
  } catch (error) {
    throw translateSource(error, source);
  } finally {
    from.close();
  }
};
