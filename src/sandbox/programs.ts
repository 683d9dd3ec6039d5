import type { BoundedQueue } from "../base/bounded-queue.ts";
import { LlmcError } from "../base/error.ts";
import type { Language, OnWait, ProgramLimits, Runner } from "./contract.ts";
import { noPython } from "./interpreters.ts";
import { createPool, type PoolSettings } from "./pool.ts";
import { RunningProgram } from "./running-program.ts";
import { createSuspended, type SuspendedWork } from "./suspended.ts";

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

/** Whose program it is: sessions and suspended programs belong to the owner, slots to the principal. */
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
  /** Waits for a slot and an interpreter, then starts the program. */
  start(
    request: ProgramRequest,
    owner: ProgramOwner,
    signal: AbortSignal,
    onWait: OnWait,
  ): Promise<RunningProgram>;
  /** Keeps a program whose user is being asked; it ends if no answer comes, or when its caller gives it up. */
  suspend(program: RunningProgram, owner: ProgramOwner, givenUp: AbortSignal): void;
  /** Takes back a suspended program, once, for the request that started it. */
  resume(id: unknown, request: ProgramRequest, owner: ProgramOwner): RunningProgram;
  /** Ends the sessions and the programs of an owner, those whose user is being asked included. */
  endAll(owner: string): Promise<void>;
  close(): Promise<void>;
}

interface ProgramsParts {
  readonly settings: () => ProgramSettings;
  /** Of `createProgramQueue`. */
  readonly queue: BoundedQueue;
  /** The first that knows a language runs it; asked for each program. */
  readonly runners: () => readonly Runner[];
  readonly newId: () => string;
}

const MIB = 1024 * 1024;
const MAX_RESULT_BYTES = 4 * MIB;
const MAX_FILE_BYTES = 8 * MIB;
/**
 * Processes that wait for a user: they hold memory, but no slot. The principal that has the most loses its oldest
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

interface SuspendedProgram extends SuspendedWork {
  readonly program: RunningProgram;
}

export const createPrograms = (parts: ProgramsParts): Programs => {
  const { settings, queue, runners, newId } = parts;
  const pool = createPool({ settings, queue });
  const suspended = createSuspended<SuspendedProgram>({
    max: { each: MAX_SUSPENDED, inAll: MAX_SUSPENDED },
    notWaiting,
    otherRequest: otherProgram,
    expired: EXPIRED,
  });
  /** All that have started and not ended, by their owners. */
  const started = new Map<RunningProgram, string>();

  const runnerOf = (language: Language): Runner => {
    const runner = runners().find(({ languages }) => languages.includes(language));
    if (runner === undefined) throw noPython();
    return runner;
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
    suspend: (program, owner, givenUp) =>
      suspended.keep(
        {
          ...owner,
          id: program.id,
          request: program.request,
          stop: (reason) => program.stop(reason),
          program,
        },
        givenUp,
      ),
    resume: (id, request, { owner }) => suspended.take(id, owner, keyOf(request)).program,
    endAll: async (owner) => {
      suspended.endAll(owner, ENDED);
      const ending = [...started].filter(([, of]) => of === owner).map(([program]) => program);
      for (const program of ending) program.stop(ENDED);
      await Promise.all([pool.endSessions(owner), ...ending.map((program) => program.whenEnded())]);
    },
    close: async () => {
      suspended.close();
      await pool.close();
    },
  };
};
