import type { BoundedQueue } from "../base/bounded-queue.ts";
import { LlmcError } from "../base/error.ts";
import { EXTRAS, installCommand } from "../base/extras-table.ts";
import type { Guest, Language, Runner } from "./contract.ts";
import { type AnalysisSlots, createAnalysisSlots } from "./slots.ts";

export const noPython = (): LlmcError =>
  new LlmcError("unavailable", "Python needs the package pyodide, which is not installed.", {
    hint: `Install it beside llmc (${installCommand(EXTRAS.python)}; without -g if llmc is part of a project), or write the program in JavaScript.`,
    retryable: false,
  });

/** Starts interpreters for those who keep one for themselves, with as much memory as they need. */
export interface Interpreters {
  /** Throws where nothing may run on this machine. */
  check(): Promise<void>;
  /** Each interpreter takes a slot. A principal has as many of them as programs may run for it. */
  slotsOf(principal: string): AnalysisSlots;
  open(language: Language, memoryBytes: number): Promise<Guest>;
  close(): Promise<void>;
}

interface InterpretersParts {
  /** The runners with a given memory, each of them cheap to make. */
  readonly runners: (memoryBytes: number) => readonly Runner[];
  /** Of `createProgramQueue`. */
  readonly queue: BoundedQueue;
}

/** Enough for an interpreter that runs nothing. */
const CHECK_BYTES = 32 * 1024 * 1024;

export const createInterpreters = ({ runners, queue }: InterpretersParts): Interpreters => {
  const alive = new Set<Guest>();
  let checked: Promise<void> | undefined;
  const start = (language: Language, memoryBytes: number): Promise<Guest> => {
    const runner = runners(memoryBytes).find(({ languages }) => languages.includes(language));
    if (runner === undefined) throw noPython();
    return runner.start();
  };
  /** Whether programs are held by the kernel here is known when one was started. */
  const tryOne = async (): Promise<void> => {
    const guest = await start("javascript", CHECK_BYTES);
    await guest.kill();
  };
  return {
    check: () => {
      checked ??= tryOne().catch((thrown: unknown) => {
        checked = undefined;
        throw thrown;
      });
      return checked;
    },
    slotsOf: (principal) => createAnalysisSlots(queue, principal),
    open: async (language, memoryBytes) => {
      const guest = await start(language, memoryBytes);
      alive.add(guest);
      return {
        isAlive: () => guest.isAlive(),
        run: (program, callTool, signal) => guest.run(program, callTool, signal),
        pause: () => guest.pause(),
        resume: () => guest.resume(),
        kill: () => {
          alive.delete(guest);
          return guest.kill();
        },
      };
    },
    close: async () => {
      await Promise.all([...alive].map((guest) => guest.kill()));
    },
  };
};
