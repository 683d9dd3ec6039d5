import { LlmcError } from "../base/error.ts";
import { EXTRAS, installCommand } from "../base/extras-table.ts";
import type { Tier } from "../host/run/tiers/contract.ts";
import type { Language, ProgramLimits, Runner } from "./contract.ts";
import { createPool, type PoolSettings } from "./pool.ts";
import { RunningProgram } from "./running-program.ts";

export type { ProgramResult } from "./contract.ts";
export type { NestedAnswer, RunningProgram } from "./running-program.ts";

export interface ProgramRequest {
  readonly language: Language;
  readonly code: string;
  readonly timeoutSeconds: number | undefined;
  /** JSON. */
  readonly inputs: string;
  readonly session: string | undefined;
}

/** Whose programs: sessions and suspended programs belong to the owner, turns to the principal. */
export interface ProgramOwner {
  readonly owner: string;
  readonly principal: string;
}

export interface ProgramSettings extends PoolSettings {
  /** Of a program that asks for no time of its own, and at most. */
  readonly timeoutSeconds: number;
  readonly maxTimeoutSeconds: number;
  readonly cpuSeconds: number;
  readonly maxOutputBytes: number;
  readonly maxToolCalls: number;
  /** A container counts as isolation, where this is one. */
  readonly trustsContainer: boolean;
}

/** What runs programs of models. */
export interface Programs {
  /** Waits for a turn and an interpreter, then starts the program. */
  start(
    request: ProgramRequest,
    owner: ProgramOwner,
    signal: AbortSignal,
    onColdStart: (interpreter: string) => void,
  ): Promise<RunningProgram>;
  /** Keeps a program whose user is being asked; it ends if no answer comes. */
  suspend(program: RunningProgram, owner: ProgramOwner): Promise<void>;
  /** Takes back a suspended program, once. */
  resume(id: unknown, owner: ProgramOwner): Promise<RunningProgram>;
  /** Ends the sessions and the suspended programs of an owner. */
  endAll(owner: string): Promise<void>;
  close(): Promise<void>;
}

interface ProgramsParts {
  readonly settings: () => ProgramSettings;
  readonly runners: readonly Runner[];
  /** How guests are confined on this machine. */
  readonly tier: () => Promise<Tier>;
  readonly isContainer: () => boolean;
  readonly newId: () => string;
}

const MIB = 1024 * 1024;
const MAX_RESULT_BYTES = 4 * MIB;
const MAX_FILE_BYTES = 8 * MIB;
/** How long a user may think about a question of a program. */
const SUSPENDED_MS = 600_000;
/** Processes that wait for a user; they have no turn, but memory. */
const MAX_SUSPENDED = 8;

const notIsolated = (): LlmcError =>
  new LlmcError("unavailable", "Programs run in a sandbox only, and this machine has none that works.", {
    hint: "Install bubblewrap and allow user namespaces, or use a kernel with Landlock (5.13 or later). In a container, the operator can set mcp.code_execution.trust_container.",
    retryable: false,
  });

const notWaiting = (): LlmcError =>
  new LlmcError("unavailable", "The program that asked no longer waits for an answer.", {
    hint: "Run it again.",
    retryable: false,
  });

const noPython = (): LlmcError =>
  new LlmcError("unavailable", "Python needs the package pyodide, which is not installed.", {
    hint: `Install it beside llmc (${installCommand(EXTRAS.python)}; without -g if llmc is part of a project), or write the program in JavaScript.`,
    retryable: false,
  });

const EXPIRED = new LlmcError("timeout", "Nobody answered the program's question.");

const limitsOf = (
  { timeoutSeconds, maxTimeoutSeconds, cpuSeconds, maxOutputBytes, maxToolCalls }: ProgramSettings,
  asked: number | undefined,
): ProgramLimits => ({
  timeoutMs: Math.min(asked ?? timeoutSeconds, maxTimeoutSeconds) * 1000,
  cpuMs: cpuSeconds * 1000,
  maxOutputBytes,
  maxResultBytes: MAX_RESULT_BYTES,
  maxFileBytes: MAX_FILE_BYTES,
  maxToolCalls,
});

interface Suspended {
  readonly program: RunningProgram;
  readonly owner: string;
  readonly timer: NodeJS.Timeout;
}

export const createPrograms = (parts: ProgramsParts): Programs => {
  const { settings, runners, tier, isContainer, newId } = parts;
  const pool = createPool({ settings });
  const suspended = new Map<string, Suspended>();

  /** Real isolation, or nothing runs (REQ-D8). */
  const checkIsolation = async (): Promise<void> => {
    // Where there is no sandbox at all, as on other systems, asking for one fails.
    if ((await tier().catch(() => "plain")) !== "plain") return;
    if (!settings().trustsContainer || !isContainer()) throw notIsolated();
  };

  const runnerOf = (language: Language): Runner => {
    const runner = runners.find(({ languages }) => languages.includes(language));
    if (runner === undefined) throw noPython();
    return runner;
  };

  const takeOut = (id: string): Suspended | undefined => {
    const kept = suspended.get(id);
    clearTimeout(kept?.timer);
    suspended.delete(id);
    return kept;
  };

  return {
    start: async ({ language, code, inputs, timeoutSeconds, session }, owner, signal, onColdStart) => {
      const runner = runnerOf(language);
      await checkIsolation();
      const lease = await pool.lease({
        runner,
        ...owner,
        session,
        signal,
        onColdStart: () => onColdStart(runner.name),
      });
      const limits = limitsOf(settings(), timeoutSeconds);
      return new RunningProgram(newId(), { language, code, inputs, limits }, lease);
    },
    suspend: async (program, { owner }) => {
      const [oldest] = suspended.keys();
      if (suspended.size >= MAX_SUSPENDED && oldest !== undefined) takeOut(oldest)?.program.stop(EXPIRED);
      const expire = (): void => takeOut(program.id)?.program.stop(EXPIRED);
      suspended.set(program.id, { program, owner, timer: setTimeout(expire, SUSPENDED_MS).unref() });
    },
    resume: async (id, { owner }) => {
      const kept = typeof id === "string" ? suspended.get(id) : undefined;
      if (kept === undefined || kept.owner !== owner) throw notWaiting();
      takeOut(kept.program.id);
      return kept.program;
    },
    endAll: async (owner) => {
      for (const [id, kept] of suspended) if (kept.owner === owner) takeOut(id)?.program.stop(EXPIRED);
      await pool.endSessions(owner);
    },
    close: async () => {
      for (const { timer } of suspended.values()) clearTimeout(timer);
      await pool.close();
    },
  };
};
