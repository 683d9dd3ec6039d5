import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import type { Located } from "../reach/located.ts";
import type { Lease } from "../state/locks/locks.ts";
import { writeAll } from "./bytes.ts";
import type { FileChange, Written } from "./contract.ts";
import { makeMissing, removeMade } from "./dirs.ts";
import { alreadyExists, translateWrite } from "./failure.ts";
import type { WriteGround } from "./ground.ts";
import { replacedMeanwhile } from "./one.ts";
import { isUnchanged, lookAt, type Place, requireInPlace, syncDirectory } from "./place.ts";
import { findSpots, type Plan, planAll } from "./plan.ts";
import { doAll, idOf, type Job, removeIfThere, undoAll } from "./steps.ts";
import { createTemp, newTempName, type Temp } from "./temp.ts";
import { AGAIN, type Bench, underLock } from "./workbench.ts";

interface PreparedJob extends Job {
  readonly words: string;
  readonly dir: Located;
  /** The file that must still be there as it was; undefined: none may be. */
  readonly seen: Place["stats"];
}

/** What has been laid out so far, for the end of it, good or bad. */
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
  readonly bench: Bench;
  readonly ground: WriteGround;
  readonly lease: Lease;
  readonly layout: Layout;
}

const layTemp = async (
  plan: Plan,
  bytes: Buffer,
  dir: Located,
  key: string,
  { bench, layout }: Work,
): Promise<Temp> => {
  const fill = (fd: number): Promise<void> => writeAll(fd, bytes);
  const words = plan.change.path;
  const temp = await createTemp({ words, dir, key, like: plan.like, fill }, bench.journal);
  layout.temps.push(temp);
  return temp;
};

const nameBackup = ({ dir, realPath }: Place, { bench, layout }: Work): string => {
  const backup = newTempName();
  layout.ends.push(bench.journal.noteTemp({ temp: posix.join(dir.realPath, backup), key: realPath }));
  return backup;
};

const layFresh = async (plan: Plan, bytes: Buffer, work: Work): Promise<void> => {
  const { fresh, change } = plan;
  if (fresh === undefined) return;
  const { ground, lease, layout } = work;
  const above = { ...fresh, missing: fresh.missing.slice(0, -1) };
  const dir = await makeMissing(above, ground, lease, layout.made);
  if (dir !== fresh.dir) layout.opened.push(dir);
  const temp = await layTemp(plan, bytes, dir, fresh.realPath, work);
  const name = posix.basename(fresh.realPath);
  layout.jobs.push({
    step: { kind: "create", dir: dir.realPath, name, temp: temp.name, made: idOf(temp.stats) },
    at: dir.at,
    dir,
    words: change.kind === "rename" ? change.target : change.path,
    seen: undefined,
  });
};

const layOld = async (plan: Plan, work: Work): Promise<void> => {
  const { old, change, bytes } = plan;
  if (old?.stats === undefined) return;
  const { dir, name, stats, words, realPath } = old;
  const common = { dir: dir.realPath, name, old: idOf(stats) };
  const rest = { at: dir.at, dir, words, seen: stats };
  if (change.kind !== "update") {
    const backup = nameBackup(old, work);
    work.layout.jobs.push({ step: { kind: "delete", ...common, backup }, ...rest });
  } else if (bytes !== undefined) {
    const temp = await layTemp(plan, bytes, dir, realPath, work);
    const made = { temp: temp.name, made: idOf(temp.stats), backup: nameBackup(old, work) };
    work.layout.jobs.push({ step: { kind: "replace", ...common, ...made }, ...rest });
  }
};

const layOut = async (plans: readonly Plan[], work: Work, signal: AbortSignal | undefined): Promise<void> => {
  for (const plan of plans) {
    stopIfAborted(signal);
    try {
      if (plan.bytes !== undefined) await layFresh(plan, plan.bytes, work);
      await layOld(plan, work);
    } catch (error) {
      throw translateWrite(error, plan.change.path);
    }
  }
};

const requireAll = (jobs: readonly PreparedJob[]): void => {
  for (const { dir, words, step, at, seen } of jobs) {
    requireInPlace(dir, words);
    const now = lookAt(`${at}/${step.name}`);
    if (seen === undefined && now !== undefined) throw alreadyExists(words);
    if (seen !== undefined && !isUnchanged(now, seen)) throw replacedMeanwhile(words);
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
const carryOut = async ({ bench, lease, layout }: Work, keys: readonly string[]): Promise<void> => {
  const { jobs, made } = layout;
  const end = await bench.journal.record({ keys, steps: jobs.map(({ step }) => step), made });
  try {
    lease.commit(() => {
      requireAll(jobs);
      doAll(jobs);
    });
    for (const dir of new Set(jobs.map((job) => job.dir))) await syncDirectory(dir);
    await end();
  } catch (error) {
    try {
      // Once more where it is undone already, which changes nothing: it may as well have failed after the last step.
      undoAll(jobs);
    } catch (second) {
      throw failed(second, "A part is done; the rest of it is undone when llmc starts next.");
    }
    // Where it cannot be removed, the next start finds a change that is undone already.
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
  const { layout, ground } = work;
  try {
    await layOut(plans, work, signal);
    stopIfAborted(signal);
    if (layout.jobs.length > 0) await carryOut(work, keys);
    dropBackups(layout);
  } catch (error) {
    await removeMade(layout.made, ground);
    throw error;
  } finally {
    for (const temp of layout.temps) temp.discard();
    for (const end of layout.ends) end();
    for (const dir of layout.opened) dir.close();
  }
};

/** All or nothing over many files. */
export const applyChanges = async (
  bench: Bench,
  changes: readonly FileChange[],
  { dryRun }: { readonly dryRun: boolean },
  signal: AbortSignal | undefined,
): Promise<readonly Written[]> => {
  const [first] = changes;
  if (first === undefined) return [];
  const find = (ground: WriteGround) => findSpots(changes, ground);
  return await underLock(bench, first.path, find, signal, async (spots, lease, ground) => {
    const plans = await planAll(spots, bench, ground, signal);
    if (plans === AGAIN) return AGAIN;
    const layout: Layout = { jobs: [], temps: [], opened: [], made: [], ends: [] };
    if (!dryRun) await perform(plans, spots.keys, { bench, ground, lease, layout }, signal);
    return plans.map(({ written }) => written);
  });
};
