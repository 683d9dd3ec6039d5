import { resolve } from "node:path";
import type { Loaded } from "../config/load.ts";
import { isContainer } from "../host/os/container.ts";
import { newId } from "../host/os/lazy-builtins.ts";
import { createCacheFile } from "../host/own-files/cache-file.ts";
import { createReach, type ReachOptions } from "../host/reach/reach.ts";
import { createReadProfiler } from "../host/run/read-profiler.ts";
import type { RunnerOptions } from "../host/run/runner.ts";
import type { Runner } from "../sandbox/contract.ts";
import { createInterpreters, type Interpreters } from "../sandbox/interpreters.ts";
import { createNativeSandbox, type NativeSandbox } from "../sandbox/native-process.ts";
import { createNodeRunner, createSystemPythonRunner } from "../sandbox/native-runner.ts";
import { createProgramQueue } from "../sandbox/pool.ts";
import { createPrograms, type Programs } from "../sandbox/programs.ts";
import { createPythonRunner, findPyodide, snapshotVersion } from "../sandbox/python-runner.ts";
import { createQuickJsRunner, type RunnerParts } from "../sandbox/quickjs-runner.ts";
import { createGuestStarter } from "../sandbox/start-guest.ts";
import { configuredState } from "./configured-paths.ts";

const MIB = 1024 * 1024;

/** Left out where its package is not installed. */
const pythonRunner = (userState: string, parts: RunnerParts): readonly Runner[] => {
  const found = findPyodide();
  if (found === undefined) return [];
  const snapshots = createCacheFile(userState, "pyodide", snapshotVersion(found.version));
  return [createPythonRunner({ ...parts, pyodideFolder: found.folder, snapshots })];
};

/** The machine's own interpreters, made when the configuration first asks for one. */
const createNativeRunners = (
  memoryBytes: () => number,
  sandboxParts: Parameters<typeof createNativeSandbox>[0],
) => {
  let made: { readonly sandbox: NativeSandbox; readonly runners: readonly Runner[] } | undefined;
  const make = () => {
    const sandbox = createNativeSandbox(sandboxParts);
    const all = { memoryBytes, sandbox };
    return { sandbox, runners: [createNodeRunner(all), createSystemPythonRunner(all)] };
  };
  return {
    of: (languages: readonly string[]): readonly Runner[] => {
      if (languages.length === 0) return [];
      made ??= make();
      return made.runners.filter((runner) => runner.languages.some((one) => languages.includes(one)));
    },
    close: async (): Promise<void> => made?.sandbox.close(),
  };
};

interface ProgramParts extends Pick<Parameters<typeof createReadProfiler>[0], "secretsElsewhere"> {
  readonly root: string;
  readonly userState: string;
  readonly closed: NonNullable<RunnerOptions["closed"]>;
  readonly obeyedPaths: NonNullable<ReachOptions["obeyedPaths"]>;
}

/** What runs the programs of `execute_code` and of analyses; nothing is started before the first of them. */
export const createProgramEngine = (
  config: () => Loaded["config"],
  env: Readonly<Record<string, string | undefined>>,
  { root, userState, closed, obeyedPaths, secretsElsewhere }: ProgramParts,
): { readonly programs: Programs; readonly interpreters: Interpreters } => {
  const settings = () => config().mcp.code_execution;
  const isIsolated = (): boolean => settings().trust_container && isContainer(env);
  const memoryBytes = (): number => settings().program_memory_mb * MIB;
  const startGuest = createGuestStarter({ isIsolated });
  const runnersWith = (ofProgram: () => number): readonly Runner[] => {
    const parts = { startGuest, memoryBytes: ofProgram };
    return [createQuickJsRunner(parts), ...pythonRunner(userState, parts)];
  };
  const runners = runnersWith(memoryBytes);
  // A queue for each of the two: an analysis takes minutes, and programs do not wait behind it.
  const openQueue = () => createProgramQueue(() => ({ maxPrograms: settings().max_programs }));
  const interpreters = createInterpreters({
    runners: (bytes) => runnersWith(() => bytes),
    queue: openQueue(),
  });
  const packages = () => settings().native_packages.map((path) => resolve(root, path));
  const reach = createReach({
    workspace: root,
    roots: packages,
    denylist: () => config().mcp.tools.denylist_globs,
    obeyedPaths,
    ...configuredState(config),
  });
  const profileOf = createReadProfiler({ reach, secretsElsewhere });
  const native = createNativeRunners(memoryBytes, { closed, packages, profileOf });
  const programs = createPrograms({
    queue: openQueue(),
    runners: () => [...native.of(settings().native_languages), ...runners],
    newId,
    settings: () => {
      const own = settings();
      return {
        maxPrograms: own.max_programs,
        maxSessions: own.max_sessions,
        sessionMs: own.session_seconds * 1000,
        timeoutSeconds: own.timeout_seconds,
        maxTimeoutSeconds: own.max_timeout_seconds,
        cpuSeconds: own.cpu_seconds,
        maxOutputBytes: own.max_output_bytes,
        maxToolCalls: own.max_tool_calls,
        maxCallBytes: config().mcp.limits.max_request_bytes,
      };
    },
  });
  return {
    interpreters,
    programs: {
      ...programs,
      close: async () => {
        await Promise.all([programs.close(), interpreters.close()]);
        await native.close();
      },
    },
  };
};
