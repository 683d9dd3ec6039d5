import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import type { ManagedProcess } from "./managed-process.ts";

export interface ProcessSettings {
  readonly enabled: boolean;
  readonly idleMs: number;
  /** How long one may hold the write lock, which others wait for: as long as a command may run. */
  readonly maxLockMs: number;
  /** Running at once. */
  readonly maxProcesses: number;
  readonly maxPerSession: number;
  readonly killForeign: boolean;
}

/** The processes that were started, by id, and how many each owner is about to start. */
export interface ProcessRegistry {
  readonly all: Map<string, ManagedProcess>;
  readonly starting: Map<string, number>;
}

/** Ended processes can still be read for a while; this many are kept for each owner. */
const KEPT_ENDED = 32;
const KEPT_ENDED_MS = 600_000;

const notFound = (id: string): LlmcError =>
  new LlmcError("resource_not_found", `There is no process ${quoteForMessage(id)}.`, {
    hint: "linux_proc_list shows yours.",
  });

const tooMany = (limit: number, whose: string): LlmcError =>
  new LlmcError("busy", `${limit} processes are already running, which is the maximum for ${whose}.`, {
    hint: "Stop one of them first.",
  });

export const runningProcesses = ({ all }: ProcessRegistry): readonly ManagedProcess[] =>
  [...all.values()].filter(({ isRunning }) => isRunning);

export const ownedProcesses = ({ all }: ProcessRegistry, owner: string): readonly ManagedProcess[] =>
  [...all.values()].filter(({ ownerId }) => ownerId === owner);

/** Another owner's process is reported like one that does not exist. */
export const findProcess = ({ all }: ProcessRegistry, id: string, owner: string): ManagedProcess => {
  const found = all.get(id);
  if (found === undefined || found.ownerId !== owner) throw notFound(id);
  return found;
};

export const forgetEnded = ({ all }: ProcessRegistry, nowMs: number): void => {
  const ended = [...all.values()].filter(({ isRunning }) => !isRunning);
  for (const own of Map.groupBy(ended, ({ ownerId }) => ownerId).values()) {
    const excess = own.length - KEPT_ENDED;
    own
      .sort((one, other) => (one.endedAt ?? 0) - (other.endedAt ?? 0))
      .filter(({ endedAt }, index) => index < excess || nowMs - (endedAt ?? 0) > KEPT_ENDED_MS)
      .forEach(({ id }) => void all.delete(id));
  }
};

/** Counts a process that is about to start, so that several starts at once keep to the limits; returns the release. */
export const reserveStart = (
  registry: ProcessRegistry,
  owner: string,
  { maxProcesses, maxPerSession }: ProcessSettings,
): (() => void) => {
  const { starting } = registry;
  const running = runningProcesses(registry);
  const waiting = [...starting.values()].reduce((sum, count) => sum + count, 0);
  const own = starting.get(owner) ?? 0;
  if (running.length + waiting >= maxProcesses) throw tooMany(maxProcesses, "this server");
  if (running.filter(({ ownerId }) => ownerId === owner).length + own >= maxPerSession)
    throw tooMany(maxPerSession, "one token or connection");
  starting.set(owner, own + 1);
  return () => {
    const left = (starting.get(owner) ?? 1) - 1;
    if (left === 0) starting.delete(owner);
    else starting.set(owner, left);
  };
};
