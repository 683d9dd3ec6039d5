import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { insideRoots } from "../../policy/paths.ts";
import { type ApprovalOptions, type Approved, createApproval } from "./approve-command.ts";
import { refuseSecrets, withoutNames } from "./argument-paths.ts";
import type { CommandCall, CommandSession, JudgedCommand } from "./contract.ts";
import { refuseHeldTarget } from "./held-target.ts";
import { createProfiler, type Prepared } from "./profiler.ts";
import type { Scans } from "./scan/workspace-scan.ts";
import { findCalledAs } from "./tiers/called-as.ts";
import { toolChainEnvironment } from "./tiers/tool-chain.ts";
import type { CommandLimits } from "./tree/limits.ts";
import type { ManagedWriters } from "./write-locks/managed-writers.ts";
import type { WriteLock, WriteLocks } from "./write-locks/write-locks.ts";

/** How a call waits for the write lock. */
export interface WriteLockWait {
  readonly signal: AbortSignal | undefined;
  readonly waitMs: number;
  /** Whose commands they are: principals take turns. */
  readonly principal: string | undefined;
}

/** The one gate for every way of running something. */
export interface CommandGate {
  /** The name of the program if the command can write. Nothing is run, and the content of the workspace does not count. */
  writerOf(call: CommandCall, signal: AbortSignal | undefined): Promise<string | undefined>;
  /**
   * Waits for the write lock if there is a writer, and holds it while the work passes the gate and runs commands;
   * without the lock, no command that can write passes.
   */
  withWriteLock<T>(
    writer: string | undefined,
    wait: WriteLockWait,
    work: (lock: WriteLock | undefined) => Promise<T>,
  ): Promise<T>;
  /** The working directory is held open while the work runs. */
  pass<T>(
    call: CommandCall,
    lock: WriteLock | undefined,
    signal: AbortSignal | undefined,
    work: (judged: JudgedCommand) => Promise<T>,
  ): Promise<T>;
  /** Throws where the command would not pass now; nothing is run. */
  check(call: CommandCall, signal: AbortSignal | undefined): Promise<void>;
  /** The file that an allowed program's name or path stands for; undefined for any other. */
  locate(program: string, cwd: string): Promise<string | undefined>;
}

export interface CommandTimeouts {
  /** Deadline of a call that names none. */
  readonly timeoutSeconds: number;
  /** The most that a call may ask for. */
  readonly maxTimeoutSeconds: number;
}

export interface GateOptions extends ApprovalOptions {
  readonly scans: Scans;
  readonly writeLocks: WriteLocks;
  readonly managed: ManagedWriters;
  /** The user's folder for git, where it is not the usual one. */
  readonly gitFolder?: string | undefined;
  readonly settings: () => CommandTimeouts &
    ReturnType<ApprovalOptions["settings"]> & { readonly network: boolean; readonly limits: CommandLimits };
}

/** What a call asks for, within the operator's maximum. */
export const deadlineMs = (
  askedSeconds: number | undefined,
  { timeoutSeconds, maxTimeoutSeconds }: CommandTimeouts,
): number => Math.min(askedSeconds ?? timeoutSeconds, maxTimeoutSeconds) * 1000;

const refuseClosed = (): LlmcError =>
  new LlmcError("forbidden", "cwd lies in a folder that is closed to commands.", {
    hint: "It holds very many files that are withheld by name: see mcp.tools.denylist_globs.",
    details: { field: "cwd" },
  });

/** The program was another one a moment ago, or the configuration was. */
export const refuseChanged = (): LlmcError =>
  new LlmcError("busy", "The program or the allowed roots changed while the command waited.", {
    hint: "Try again.",
  });

const sessionEnv = (session: CommandSession | undefined): Readonly<Record<string, string>> =>
  session === undefined
    ? {}
    : { TE_AGENT_ID: session.agentId, TE_SESSION_ID: session.sessionId, TE_MODEL: session.model };

/** What the runner gets of a command that has passed. */
const judgedCommand = (
  { command: [requested], timeoutSeconds, env = {}, session }: CommandCall,
  { judged, name, startPath, cwd, tier, roots, lookups }: Approved,
  prepared: Prepared,
  timeouts: CommandTimeouts,
): JudgedCommand => {
  const { profile: sandbox, gitSettings, repository, toolChains, notes } = prepared;
  const toolChainEnv = toolChainEnvironment(startPath, toolChains);
  const ceilings = roots.map((root) => posix.dirname(root));
  const request = {
    argv:
      tier === "plain"
        ? withoutNames(name, prepared.argv, { ...prepared, hidden: sandbox.hidden }, cwd, lookups)
        : prepared.argv,
    calledAs: findCalledAs(requested, startPath, toolChainEnv["PATH"] ?? "", roots),
    cwd,
    timeoutMs: deadlineMs(timeoutSeconds, timeouts),
    env: { ...env, ...sessionEnv(session) },
    toolChainEnv,
    git:
      judged.git === undefined
        ? undefined
        : { ceilings, settings: gitSettings, repository, protocols: judged.git.protocols },
  };
  return { request, profile: sandbox, notes, ...prepared.planAfterRun() };
};

export const createCommandGate = (options: GateOptions): CommandGate => {
  const { find, approve } = createApproval(options);
  const profileOf = createProfiler(options);

  const profile = async ({ judged, args, cwd, folders, tier, lookups }: Approved) => {
    const prepared = await profileOf(judged, args, cwd, tier, lookups);
    // Nothing hides there what this scan was the first to see: a secret that has another name, too.
    if (tier === "plain") {
      const { readPaths } = options.settings();
      refuseSecrets(args, folders, options.reach.current(), { tier, readPaths }, lookups);
    }
    if (prepared.profile.withheld?.some((path) => insideRoots(cwd, [path]))) throw refuseClosed();
    return prepared;
  };

  return {
    locate: (program, cwd) =>
      find(program, options.reach.current().rules.roots, cwd).then(
        ({ startPath }) => startPath,
        () => undefined,
      ),
    writerOf: (call, signal) =>
      approve(call, signal, async ({ judged, name }) => (judged.writes ? name : undefined)),
    withWriteLock: (writer, { signal, waitMs, principal }, work) => {
      if (writer === undefined) return work(undefined);
      const { rules, gitDirectories } = options.reach.current();
      const roots = [...rules.roots, ...gitDirectories];
      return options.writeLocks.hold({ roots, program: writer, waitMs, signal, principal }, work);
    },
    check: (call, signal) => approve(call, signal, async (approved) => void (await profile(approved))),
    pass: (call, lock, signal, work) =>
      approve(call, signal, async (approved) => {
        const prepared = await profile(approved);
        const { writable } = prepared.profile;
        if (writable.length > 0 && lock?.covers(writable) !== true) throw refuseChanged();
        const judged = judgedCommand(call, approved, prepared, options.settings());
        if (prepared.heldTarget !== undefined)
          await refuseHeldTarget(prepared.heldTarget, judged, options.runner, signal);
        return work(judged);
      }),
  };
};
