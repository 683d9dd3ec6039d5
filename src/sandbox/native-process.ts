import { realpathSync } from "node:fs";
import { LlmcError } from "../base/error.ts";
import { readProcStat } from "../host/os/proc-stat.ts";
import type { ReadProfiler } from "../host/run/read-profiler.ts";
import { createCommandRunner, type RunnerOptions } from "../host/run/runner.ts";
import { openInputPipe, openPipe } from "../host/run/tree/pipe.ts";
import { type GuestChannel, MS_PER_TICK, overStreams } from "./guest-channel.ts";

/** A real interpreter, and what it may use. */
export interface NativeProgram {
  readonly argv: readonly [string, ...string[]];
  /** Files and folders that it may read, beside the system's own. */
  readonly readable: readonly string[];
  readonly memoryBytes: number;
  /** What it may reserve; V8 reserves much that it never uses. */
  readonly reservedBytes: number;
}

/** Starts real interpreters in the sandbox of commands: without roots, network or other processes. */
export interface NativeSandbox {
  /** Folders of packages, as the operator named them. */
  packages(): readonly string[];
  start(program: NativeProgram): Promise<GuestChannel>;
  close(): Promise<void>;
}

/** Threads included. */
const MAX_PROCESSES = 64;
/** Of one file in the ephemeral workspace. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Whoever may write to the workspace could put a link into the place of a folder, and open any other by it. */
const refuseLink = (path: string): void => {
  let real: string;
  try {
    real = realpathSync.native(path);
  } catch (cause) {
    throw new LlmcError("unavailable", "A folder of mcp.code_execution.native_packages does not exist.", {
      hint: "The operator installs the packages, or takes the folder out.",
      retryable: false,
      cause,
    });
  }
  if (real === path) return;
  throw new LlmcError(
    "unavailable",
    "A folder of mcp.code_execution.native_packages is, or lies behind, a link.",
    {
      hint: "The operator names the folder by its real path.",
      retryable: false,
    },
  );
};

/** Nothing else is around such a program, so that no container can stand for the sandbox. */
const notConfined = (): LlmcError =>
  new LlmcError("unavailable", "The machine's own interpreters run in a sandbox only, and none works here.", {
    hint: "Install bubblewrap and allow user namespaces, or use a kernel with Landlock (5.13 or later), or take the language out of mcp.code_execution.native_languages.",
    retryable: false,
  });

interface NativeSandboxOptions extends Pick<RunnerOptions, "tiers" | "closed"> {
  readonly packages: () => readonly string[];
  /** As for a command whose roots are the folders of packages. */
  readonly profileOf: ReadProfiler;
}

export const createNativeSandbox = ({
  packages,
  profileOf,
  ...options
}: NativeSandboxOptions): NativeSandbox => {
  const runner = createCommandRunner({ mode: () => "auto", ...options });
  return {
    packages,
    close: async () => runner[Symbol.asyncDispose](),
    start: async ({ argv, readable, memoryBytes, reservedBytes }) => {
      // Real isolation, or nothing runs (REQ-D8). Where there is no sandbox at all, asking for one fails.
      if ((await runner.tier().catch(() => "plain")) === "plain") throw notConfined();
      for (const folder of packages()) refuseLink(folder);
      const limits = {
        memoryBytes,
        dataBytes: reservedBytes,
        processes: MAX_PROCESSES,
        fileBytes: MAX_FILE_BYTES,
        filesAreMemory: true,
        needsGroup: true,
      };
      const reading = await profileOf(limits);
      const profile = { ...reading, readableRoots: [...readable, ...(reading.readableRoots ?? [])] };
      const [input, output, errors] = [openInputPipe(), openPipe(), openPipe()];
      const { close, ...channel } = overStreams(input.writer, output.reader, errors.reader);
      const request = { argv, cwd: "/", timeoutMs: 0 };
      const stdio = () => [input.readEnd, output.writeEnd, errors.writeEnd] as const;
      const started = await runner.start({ request, profile }, stdio).catch((thrown: unknown) => {
        close();
        throw thrown;
      });
      const { tree } = started;
      let wasOverMemory = false;
      const end = async (): Promise<void> => {
        await tree.exited;
        wasOverMemory = started.limit() === "memory";
        await tree.sweep();
        await started.finish();
        close();
      };
      return {
        ...channel,
        ended: end(),
        cpuMs: () =>
          tree.find().reduce((sum, { pid }) => sum + (readProcStat(pid)?.cpuTicks ?? 0), 0) * MS_PER_TICK,
        wasOverMemory: () => wasOverMemory,
        kill: () => tree.end(0),
      };
    },
  };
};
