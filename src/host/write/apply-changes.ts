import { fchmodSync } from "node:fs";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { writeAll } from "../reach/descriptor.ts";
import type { Located } from "../reach/located.ts";
import type { Lease } from "../state/locks/locks.ts";
import type { FileChange, Written } from "./contract.ts";
import { alreadyExists, translateWrite } from "./failure.ts";
import { makeMissing, removeMade } from "./make-directories.ts";
import { findChangeTargets, type Plan, planAll } from "./plan.ts";
import { doAll, idOf, type Job, removeIfThere, undoAll } from "./steps.ts";
import { createTemp, newTempName, type Temp } from "./temp.ts";
import { RETRY, underLock, type WriteContext } from "./write-context.ts";
import { replacedMeanwhile } from "./write-file.ts";
import type { WriteReach } from "./write-reach.ts";
import { isUnchanged, requireUnmoved, statOf, syncDirectory, type WriteTarget } from "./write-target.ts";

interface PreparedJob extends Job {
  readonly requestedPath: string;
  readonly dir: Located;
  /** The file that must still exist unchanged; undefined if no file may exist. */
  readonly seen: WriteTarget["stats"];
}

/** Everything prepared so far, for the commit or the rollback. */
interface Layout {
  readonly jobs: PreparedJob[];
  readonly temps: Temp[];
  readonly opened: Located[];
  /** Real paths, outermost first. */
  readonly made: string[];
  /** End the notes of backups. */
  readonly ends: (() => void)[];
}

interface Work {
  readonly context: WriteContext;
  readonly reach: WriteReach;
  readonly lease: Lease;
  readonly layout: Layout;
}

const layTemp = async (
  plan: Plan,
  bytes: Buffer,
  dir: Located,
  key: string,
  { context, layout }: Work,
): Promise<Temp> => {
  const { change, old } = plan;
  const fill = async (fd: number): Promise<void> => {
    await writeAll(fd, bytes);
    if (change.kind === "put" && old === undefined) fchmodSync(fd, change.mode);
  };
  const requestedPath = change.path;
  const temp = await createTemp({ requestedPath, dir, key, like: plan.like, fill }, context.journal);
  layout.temps.push(temp);
  return temp;
};

const nameBackup = ({ dir, realPath }: WriteTarget, { context, layout }: Work): string => {
  const backup = newTempName();
  layout.ends.push(context.journal.noteTemp({ temp: posix.join(dir.realPath, backup), key: realPath }));
  return backup;
};

const layFresh = async (plan: Plan, bytes: Buffer, work: Work): Promise<void> => {
  const { fresh, change } = plan;
  if (fresh === undefined) return;
  const { reach, lease, layout } = work;
  const above = { ...fresh, missing: fresh.missing.slice(0, -1) };
  const dir = await makeMissing(above, reach, lease, layout.made);
  if (dir !== fresh.dir) layout.opened.push(dir);
  const temp = await layTemp(plan, bytes, dir, fresh.realPath, work);
  const name = posix.basename(fresh.realPath);
  layout.jobs.push({
    step: { kind: "create", dir: dir.realPath, name, temp: temp.name, made: idOf(temp.stats) },
    at: dir.at,
    dir,
    requestedPath: change.kind === "rename" ? change.target : change.path,
    seen: undefined,
  });
};

const layOld = async (plan: Plan, work: Work): Promise<void> => {
  const { old, change, bytes } = plan;
  if (old?.stats === undefined) return;
  const { dir, name, stats, requestedPath, realPath } = old;
  const common = { dir: dir.realPath, name, old: idOf(stats) };
  const rest = { at: dir.at, dir, requestedPath, seen: stats };
  if (change.kind === "delete" || change.kind === "rename") {
    const backup = nameBackup(old, work);
    work.layout.jobs.push({ step: { kind: "delete", ...common, backup }, ...rest });
  } else if (bytes !== undefined) {
    const temp = await layTemp(plan, bytes, dir, realPath, work);
    const made = { temp: temp.name, made: idOf(temp.stats), backup: nameBackup(old, work) };
    work.layout.jobs.push({ step: { kind: "replace", ...common, ...made }, ...rest });
  }
};

const layDirectory = async ({ fresh }: Plan, { reach, lease, layout }: Work): Promise<void> => {
  if (fresh === undefined) return;
  const dir = await makeMissing(fresh, reach, lease, layout.made);
  if (dir !== fresh.dir) layout.opened.push(dir);
};

const layOut = async (plans: readonly Plan[], work: Work, signal: AbortSignal | undefined): Promise<void> => {
  for (const plan of plans) {
    stopIfAborted(signal);
    try {
      if (plan.change.kind === "directory") await layDirectory(plan, work);
      if (plan.bytes !== undefined) await layFresh(plan, plan.bytes, work);
      await layOld(plan, work);
    } catch (error) {
      throw translateWrite(error, plan.change.path);
    }
  }
};

const requireAll = (jobs: readonly PreparedJob[]): void => {
  for (const { dir, requestedPath, step, at, seen } of jobs) {
    requireUnmoved(dir, requestedPath);
    const now = statOf(`${at}/${step.name}`);
    if (seen === undefined && now !== undefined) throw alreadyExists(requestedPath);
    if (seen !== undefined && !isUnchanged(now, seen)) throw replacedMeanwhile(requestedPath);
  }
};

const failed = (cause: unknown, hint: string): LlmcError =>
  cause instanceof LlmcError
    ? cause
    : new LlmcError("write_failed", "The change could not be made as a whole.", { hint, cause });

const dropBackups = ({ jobs }: Layout): void => {
  for (const { step, at } of jobs) if (step.kind !== "create") removeIfThere(`${at}/${step.backup}`);
};

/** From here on a kill leaves a record behind, by which the next start undoes what was done. */
const carryOut = async ({ context, lease, layout }: Work, keys: readonly string[]): Promise<void> => {
  const { jobs, made } = layout;
  const end = await context.journal.record({ keys, steps: jobs.map(({ step }) => step), made });
  try {
    lease.commit(() => {
      requireAll(jobs);
      doAll(jobs);
    });
    for (const dir of new Set(jobs.map((job) => job.dir))) await syncDirectory(dir);
    await end();
  } catch (error) {
    try {
      // Undone again even if that has already happened, which is harmless, because the failure may have come after the
      // last step.
      undoAll(jobs);
    } catch (second) {
      throw failed(second, "A part is done; the rest of it is undone when llmc starts next.");
    }
    // If the record cannot be removed, the next start finds a change that has already been undone.
    await end().catch(() => {});
    throw failed(error, "Everything is as it was before.");
  }
};

const perform = async (
  plans: readonly Plan[],
  keys: readonly string[],
  work: Work,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const { layout, reach } = work;
  try {
    await layOut(plans, work, signal);
    stopIfAborted(signal);
    if (layout.jobs.length > 0) await carryOut(work, keys);
    dropBackups(layout);
  } catch (error) {
    await removeMade(layout.made, reach);
    throw error;
  } finally {
    for (const temp of layout.temps) temp.discard();
    for (const end of layout.ends) end();
    for (const dir of layout.opened) dir.close();
  }
};

/** All or nothing over many files. */
export const applyChanges = async (
  context: WriteContext,
  changes: readonly FileChange[],
  { dryRun }: { readonly dryRun: boolean },
  signal: AbortSignal | undefined,
): Promise<readonly Written[]> => {
  const [first] = changes;
  if (first === undefined) return [];
  const find = (reach: WriteReach) => findChangeTargets(changes, reach);
  return await underLock(context, first.path, find, signal, async (targets, lease, reach) => {
    const plans = await planAll(targets, context, reach, signal);
    if (plans === RETRY) return RETRY;
    const layout: Layout = { jobs: [], temps: [], opened: [], made: [], ends: [] };
    if (!dryRun) await perform(plans, targets.keys, { context, reach, lease, layout }, signal);
    return plans.map(({ written }) => written);
  });
};
