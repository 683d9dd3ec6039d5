import type { Loaded } from "../config/load.ts";
import { isContainer } from "../host/os/container.ts";
import { newId } from "../host/os/lazy-builtins.ts";
import { createCacheFile } from "../host/own-files/cache-file.ts";
import { createConfinement } from "../sandbox/confined.ts";
import type { Runner } from "../sandbox/contract.ts";
import { createPrograms, type Programs } from "../sandbox/programs.ts";
import { createPythonRunner, findPyodide } from "../sandbox/python-runner.ts";
import { createQuickJsRunner, type RunnerParts } from "../sandbox/quickjs-runner.ts";
import { VERSION } from "./version.ts";

const MIB = 1024 * 1024;

/** Left out where its package is not installed. */
const pythonRunner = (userState: string, parts: RunnerParts): readonly Runner[] => {
  const found = findPyodide();
  if (found === undefined) return [];
  const snapshots = createCacheFile(userState, "pyodide", `${found.version}-${VERSION}`);
  return [createPythonRunner({ ...parts, pyodideFolder: found.folder, snapshots })];
};

/** What runs the programs of `execute_code`; nothing is started before the first of them. */
export const createProgramEngine = (
  config: () => Loaded["config"],
  env: Readonly<Record<string, string | undefined>>,
  userState: string,
): Programs => {
  const settings = () => config().mcp.code_execution;
  const confinement = createConfinement();
  const parts = { confinement, memoryBytes: () => settings().program_memory_mb * MIB };
  const programs = createPrograms({
    runners: [createQuickJsRunner(parts), ...pythonRunner(userState, parts)],
    tier: confinement.tier,
    isContainer: () => isContainer(env),
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
        trustsContainer: own.trust_container,
      };
    },
  });
  return {
    ...programs,
    close: async () => {
      await programs.close();
      await confinement.close();
    },
  };
};
