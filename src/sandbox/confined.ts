import { readProcStat } from "../host/os/proc-stat.ts";
import { createCommandRunner, type RunnerOptions } from "../host/run/runner.ts";
import type { Tier } from "../host/run/tiers/contract.ts";
import { openInputPipe, openPipe } from "../host/run/tree/pipe.ts";
import { collect, type TreeStdio } from "../host/run/tree/process-tree.ts";

/** A Node program that is to see nothing but its own files. */
export interface ConfinedProgram {
  /** Options of Node, the program's file and its arguments. */
  readonly args: readonly string[];
  /** Files and folders that it may read, beside the system's own. */
  readonly readable: readonly string[];
}

export interface ConfinedLimits {
  /** Memory that the whole process uses, the interpreter and its runtime included. */
  readonly memoryBytes: number;
  /** What it may reserve; V8 reserves much that it never uses. */
  readonly reservedBytes: number;
}

export interface ConfinedProcess {
  /** False if it does not read what it is sent: too much is waiting already. */
  write(bytes: Buffer): boolean;
  onData(listener: (chunk: Buffer) => void): void;
  /** Resolves when the process and everything it started are gone. */
  readonly ended: Promise<void>;
  /** Processor time so far, in milliseconds. */
  cpuMs(): number;
  /** Whether it was ended for its memory. */
  wasOverMemory(): boolean;
  /** The beginning of what it wrote to stderr: for the log, never for a caller. */
  errors(): string;
  kill(): Promise<void>;
}

/** Starts programs that cannot reach files, network or other processes; whatever confines them is behind this. */
export interface Confinement {
  /** How programs are held here, found out by trying; `plain` means not at all. */
  tier(): Promise<Tier>;
  start(program: ConfinedProgram, limits: ConfinedLimits): Promise<ConfinedProcess>;
  close(): Promise<void>;
}

/** Threads of Node included. */
const MAX_PROCESSES = 64;
/** The kernel's USER_HZ is 100 wherever Node runs. */
const MS_PER_TICK = 10;

/** Results of tools that the process has not read yet. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 4096;

const openChannel = () => {
  const [input, output, errors] = [openInputPipe(), openPipe(), openPipe()];
  // A process that has ended is reported as such, not by an error here.
  for (const socket of [input.writer, output.reader, errors.reader]) socket.on("error", () => {});
  const collected = collect(errors.reader, MAX_ERROR_BYTES);
  return {
    stdio: (): TreeStdio => [input.readEnd, output.writeEnd, errors.writeEnd],
    onData: (listener: (chunk: Buffer) => void): void => void output.reader.on("data", listener),
    write: (bytes: Buffer): boolean => {
      if (input.writer.writableLength + bytes.length > MAX_WAITING_BYTES) return false;
      if (input.writer.writable) input.writer.write(bytes);
      return true;
    },
    errors: (): string => collected.bytes().toString("utf8"),
    close: (): void => {
      for (const socket of [input.writer, output.reader, errors.reader]) socket.destroy();
    },
  };
};

/** On the sandbox of commands: no roots at all, no network, no other process. */
export const createConfinement = (options: Pick<RunnerOptions, "tiers"> = {}): Confinement => {
  const runner = createCommandRunner({ mode: () => "auto", ...options });
  return {
    tier: runner.tier,
    close: async () => runner[Symbol.asyncDispose](),
    start: async ({ args, readable }, { memoryBytes, reservedBytes }) => {
      const channel = openChannel();
      const request = { argv: [process.execPath, ...args], cwd: "/", timeoutMs: 0 } as const;
      const profile = {
        writable: [],
        readableRoots: readable,
        protectedInside: [],
        hidden: [],
        network: false,
        noFork: true,
        limits: { memoryBytes, dataBytes: reservedBytes, processes: MAX_PROCESSES, fileBytes: 0 },
      };
      const started = await runner.start({ request, profile }, channel.stdio).catch((thrown: unknown) => {
        channel.close();
        throw thrown;
      });
      const { tree } = started;
      let wasOverMemory = false;
      const end = async (): Promise<void> => {
        await tree.exited;
        wasOverMemory = started.limit() === "memory";
        await tree.sweep();
        await started.finish();
        channel.close();
      };
      return {
        write: channel.write,
        onData: channel.onData,
        ended: end(),
        cpuMs: () =>
          tree.find().reduce((sum, { pid }) => sum + (readProcStat(pid)?.cpuTicks ?? 0), 0) * MS_PER_TICK,
        wasOverMemory: () => wasOverMemory,
        errors: channel.errors,
        kill: () => tree.end(0),
      };
    },
  };
};
