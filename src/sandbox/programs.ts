import { LlmcError } from "../base/error.ts";
import type { Language, OnWait, ProgramLimits, Runner } from "./contract.ts";
import { firstToGo } from "./first-to-go.ts";
import { noPython } from "./interpreters.ts";
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

/** Whose program it is: sessions and suspended programs belong to the owner, turns to the principal. */
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
  /** Of the arguments of one tool call: what a client could send. */
  readonly maxCallBytes: number;
}

/** What runs programs of models. */
export interface Programs {
  /** Waits for a turn and an interpreter, then starts the program. */
  start(
    request: ProgramRequest,
    owner: ProgramOwner,
    signal: AbortSignal,
    onWait: OnWait,
  ): Promise<RunningProgram>;
  /** Keeps a program whose user is being asked; it ends if no answer comes, or when its caller gives it up. */
  suspend(program: RunningProgram, owner: ProgramOwner, givenUp: AbortSignal): Promise<void>;
  /** Takes back a suspended program, once, for the request that started it. */
  resume(id: unknown, request: ProgramRequest, owner: ProgramOwner): Promise<RunningProgram>;
  /** Ends the sessions and the programs of an owner, those whose user is being asked included. */
  endAll(owner: string): Promise<void>;
  close(): Promise<void>;
}

interface ProgramsParts {
  readonly settings: () => ProgramSettings;
  /** The first that knows a language runs it; asked for each program. */
  readonly runners: () => readonly Runner[];
  readonly newId: () => string;
}

const MIB = 1024 * 1024;
const MAX_RESULT_BYTES = 4 * MIB;
const MAX_FILE_BYTES = 8 * MIB;
/** How long a user may think about a question of a program. */
const SUSPENDED_MS = 600_000;
/**
 * Processes that wait for a user: they hold memory, but no turn. The principal that has the most loses its oldest
 * one.
 */
const MAX_SUSPENDED = 8;

const notWaiting = (): LlmcError =>
  new LlmcError("unavailable", "The program that asked no longer waits for an answer.", {
    hint: "Run it again.",
    retryable: false,
  });

const otherProgram = (): LlmcError =>
  new LlmcError("invalid_args", "The program that asked was started with other arguments.", {
    hint: "Send the answer with the same arguments, or start a new program without the state.",
  });

const ENDED = new LlmcError("cancelled", "The program was ended: its owner has lost rights.");
const EXPIRED = new LlmcError("timeout", "Nobody answered the program's question.");

/** The same for the same request. */
const keyOf = ({ language, code, inputs, timeoutSeconds, session }: ProgramRequest): string =>
  JSON.stringify([language, code, inputs, timeoutSeconds, session]);

const limitsOf = (
  {
    timeoutSeconds,
    maxTimeoutSeconds,
    cpuSeconds,
    maxOutputBytes,
    maxToolCalls,
    maxCallBytes,
  }: ProgramSettings,
  asked: number | undefined,
): ProgramLimits => ({
  timeoutMs: Math.min(asked ?? timeoutSeconds, maxTimeoutSeconds) * 1000,
  cpuMs: cpuSeconds * 1000,
  maxOutputBytes,
  maxResultBytes: MAX_RESULT_BYTES,
  maxFileBytes: MAX_FILE_BYTES,
  maxToolCalls,
  maxCallBytes,
});

interface Suspended extends ProgramOwner {
  readonly program: RunningProgram;
  readonly timer: NodeJS.Timeout;
  /** No longer listens to its caller. */
  readonly forget: () => void;
}

export const createPrograms = (parts: ProgramsParts): Programs => {
  const { settings, runners, newId } = parts;
  const pool = createPool({ settings });
  const suspended = new Map<string, Suspended>();
  /** All that have started and not ended, by their owners. */
  const started = new Map<RunningProgram, string>();

  const runnerOf = (language: Language): Runner => {
    const runner = runners().find(({ languages }) => languages.includes(language));
    if (runner === undefined) throw noPython();
    return runner;
  };

  const takeOut = (id: string): Suspended | undefined => {
    const kept = suspended.get(id);
    clearTimeout(kept?.timer);
    kept?.forget();
    suspended.delete(id);
    return kept;
  };

  return {
    start: async (request, owner, signal, onWait) => {
      const { language, code, inputs, timeoutSeconds, session } = request;
      const runner = runnerOf(language);
      const lease = await pool.lease({ runner, ...owner, session, signal, onWait });
      const limits = limitsOf(settings(), timeoutSeconds);
      const program = new RunningProgram(
        { id: newId(), request: keyOf(request) },
        { language, code, inputs, limits, sharesVariables: session !== undefined },
        lease,
      );
      started.set(program, owner.owner);
      void program.whenEnded().then(() => started.delete(program));
      return program;
    },
    suspend: async (program, { owner, principal }, givenUp) => {
      const end = (id: string, reason: unknown): void => takeOut(id)?.program.stop(reason);
      const giveUp = (): void => end(program.id, givenUp.reason);
      suspended.set(program.id, {
        program,
        owner,
        principal,
        timer: setTimeout(() => end(program.id, EXPIRED), SUSPENDED_MS).unref(),
        forget: () => givenUp.removeEventListener("abort", giveUp),
      });
      givenUp.addEventListener("abort", giveUp, { once: true });
      if (givenUp.aborted) giveUp();
      const first = firstToGo(suspended);
      if (suspended.size > MAX_SUSPENDED && first !== undefined) end(first, EXPIRED);
    },
    resume: async (id, request, { owner }) => {
      const kept = typeof id === "string" ? suspended.get(id) : undefined;
      if (kept === undefined || kept.owner !== owner) throw notWaiting();
      // What is recorded as called has to be what runs.
      if (kept.program.request !== keyOf(request)) throw otherProgram();
      takeOut(kept.program.id);
      return kept.program;
    },
    endAll: async (owner) => {
      for (const [id, kept] of suspended) if (kept.owner === owner) takeOut(id);
      const ending = [...started].filter(([, of]) => of === owner).map(([program]) => program);
      for (const program of ending) program.stop(ENDED);
      await Promise.all([pool.endSessions(owner), ...ending.map((program) => program.whenEnded())]);
    },
    close: async () => {
      for (const { timer } of suspended.values()) clearTimeout(timer);
      await pool.close();
    },
  };
};
