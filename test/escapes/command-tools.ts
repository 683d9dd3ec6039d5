import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { buildConfig } from "../../src/config/sections.ts";
import { createEnvelope } from "../../src/envelope/envelope.ts";
import { envelopeSettings } from "../../src/envelope/settings.ts";
import { createProcesses } from "../../src/host/processes/processes.ts";
import { createAccess } from "../../src/host/reach/access.ts";
import { createObeyedBeside } from "../../src/host/reach/obeyed-beside.ts";
import { createReach, type ReachOptions } from "../../src/host/reach/reach.ts";
import { createWithheldFiles } from "../../src/host/reach/withheld-files.ts";
import { createFiles, type Files } from "../../src/host/read/files.ts";
import { createCommandGate } from "../../src/host/run/commands.ts";
import { createLineRunner } from "../../src/host/run/line/line-runner.ts";
import { showQuarantined } from "../../src/host/run/scan/quarantined.ts";
import { createScans } from "../../src/host/run/scan/workspace-scan.ts";
import { createManagedWriters } from "../../src/host/run/write-locks/managed-writers.ts";
import { createWriteLocks } from "../../src/host/run/write-locks/write-locks.ts";
import { createLockDb } from "../../src/host/state/lock-db.ts";
import { createLocks } from "../../src/host/state/locks/locks.ts";
import { createStateDb } from "../../src/host/state/state-db.ts";
import { createUsage } from "../../src/host/state/usage/usage.ts";
import type { FileWrites } from "../../src/host/write/contract.ts";
import { createFileWrites } from "../../src/host/write/file-writes.ts";
import type { CallContext } from "../../src/tools/contract.ts";
import { linuxProcRead } from "../../src/tools/linux-proc-read.ts";
import { linuxProcStart } from "../../src/tools/linux-proc-start.ts";
import { runCmd } from "../../src/tools/run-cmd.ts";
import { runPytest } from "../../src/tools/run-pytest.ts";
import { teRun } from "../../src/tools/te-run.ts";
import type { Ports, Tool } from "../../src/tools/tool.ts";
import { USER_STATE } from "../user-state.ts";
import { runnerOf, type Setting } from "./command-stand.ts";

const TOOLS = { run_cmd: runCmd, te_run: teRun, run_pytest: runPytest };

export type ToolName = keyof typeof TOOLS | "linux_proc_start" | "linux_proc_start with a terminal";

export interface CommandTools extends AsyncDisposable {
  /** Runs a line (for run_pytest: the tests of the workspace) to its end, and gives all that a model would see. */
  use(tool: ToolName, line: string, cwd?: string): Promise<string>;
  /** The same rules for reading. */
  readonly files: Files;
  /** The same rules for the tools that write. */
  readonly writes: FileWrites;
}

interface ToolsOptions extends Pick<ReachOptions, "stateFolders" | "stateFiles"> {
  readonly allowlist: readonly string[];
  readonly powers: readonly string[];
  readonly denylist: readonly string[];
  readonly network?: boolean;
  readonly obeyedPaths?: ReachOptions["obeyedPaths"];
  readonly startup?: readonly string[];
  readonly timeoutSeconds?: number;
  readonly readPaths?: readonly string[];
  readonly gitDirectories?: readonly string[];
}

/** Every tool that runs something, wired as the server wires it, over a tier that is forced. */
export const commandTools = (setting: Setting, workspace: string, options: ToolsOptions): CommandTools => {
  const runner = runnerOf(setting);
  const reach = createReach({
    workspace,
    roots: () => ["."],
    denylist: () => options.denylist,
    startup: () => options.startup ?? [],
    gitDirectories: () => options.gitDirectories ?? [],
    withheldFiles: createWithheldFiles(),
    obeyedFiles: createWithheldFiles(),
    obeyedBeside: createObeyedBeside(),
    stateFolders: options.stateFolders ?? (() => []),
    stateFiles: options.stateFiles ?? (() => []),
    ...(options.obeyedPaths === undefined ? {} : { obeyedPaths: options.obeyedPaths }),
  });
  const state = createStateDb({ workspace, userState: USER_STATE, onWarning: () => {} });
  const usage = createUsage({ state, retentionDays: () => 0, now: () => Date.now() });
  const scans = createScans(reach);
  const gate = createCommandGate({
    reach,
    scans,
    runner,
    writeLocks: createWriteLocks(USER_STATE),
    managed: createManagedWriters(USER_STATE),
    settings: () => ({
      enabled: true,
      allowlist: options.allowlist,
      powers: options.powers,
      network: options.network ?? false,
      timeoutSeconds: options.timeoutSeconds ?? 60,
      maxTimeoutSeconds: options.timeoutSeconds ?? 60,
      readPaths: options.readPaths ?? [],
      limits: { memoryBytes: 2 ** 31, processes: 256, fileBytes: 2 ** 30 },
    }),
  });
  const locks = createLocks({
    database: createLockDb({ workspace, userState: USER_STATE, onWarning: () => {} }),
    workspace,
    settings: () => ({ waitMs: 5000, leaseMs: 30_000 }),
    now: () => Date.now(),
    pid: process.pid,
  });
  const lines = createLineRunner({
    gate,
    runner,
    access: createAccess(reach),
    writes: createFileWrites({
      reach,
      userState: USER_STATE,
      locks,
      ready: scans.knowObeyed,
      actor: "commands",
    }),
    isListed: (program) => options.allowlist.includes(program),
    resolve: (path) => resolve(workspace, path),
    timeouts: () => ({
      timeoutSeconds: options.timeoutSeconds ?? 60,
      maxTimeoutSeconds: options.timeoutSeconds ?? 60,
    }),
  });
  const handles = { put: async () => "h_1" };
  const processes = createProcesses({
    root: workspace,
    gate,
    lines,
    runner,
    settings: () => ({
      enabled: true,
      idleMs: 600_000,
      maxLockMs: (options.timeoutSeconds ?? 60) * 1000,
      maxProcesses: 10,
      maxPerSession: 10,
      killForeign: false,
    }),
    now: () => performance.now(),
  });
  const envelope = createEnvelope({
    launch: async (call, signal) => {
      const outcome = await lines.run({ ...call, may: call.session.may }, signal);
      return {
        ...outcome,
        quarantined: showQuarantined(outcome.quarantined, workspace),
      };
    },
    handles,
    usage,
    settings: () =>
      envelopeSettings(buildConfig(new Map()).mcp.te, 64, {
        timeoutSeconds: 60,
        maxTimeoutSeconds: 60,
        hasNetwork: false,
      }),
    onFailure: () => {},
  });
  const files = createFiles(reach);
  const ports = { files, handles, envelope, processes } as unknown as Ports;
  const call = {
    caller: {
      agentId: "test",
      sessionId: "one",
      model: "none",
      transport: "cli",
      principal: "local",
      owner: "one",
      may: new Set(["read", "write", "execute"]),
    },
    signal: new AbortController().signal,
  } as unknown as CallContext;
  const seen = async (tool: Tool, args: unknown): Promise<string> => {
    const output = await tool.run(args, ports, call);
    return `${JSON.stringify(output)}\n${JSON.stringify(tool.render(output, output))}`;
  };
  const toItsEnd = async (line: string, pty: boolean): Promise<string> => {
    let text = await seen(linuxProcStart, { command: line, pty, wait_ms: 2000 });
    const id = /"proc_id":"([^"]+)"/.exec(text)?.[1];
    for (let round = 0; round < 300 && !text.includes('"state":"ended"'); round++) {
      await sleep(50);
      text += await seen(linuxProcRead, { proc_id: id, wait_ms: 200 });
    }
    return text;
  };
  return {
    files,
    writes: createFileWrites({ reach, userState: USER_STATE, locks, ready: scans.knowObeyed }),
    use: (tool, line, cwd) => {
      if (tool === "run_pytest") return seen(TOOLS[tool], { timeout: 60 });
      if (tool === "run_cmd" || tool === "te_run")
        return seen(TOOLS[tool], {
          command: line,
          timeout: options.timeoutSeconds ?? 60,
          ...(cwd && { cwd }),
        });
      return toItsEnd(line, tool !== "linux_proc_start");
    },
    [Symbol.asyncDispose]: async () => {
      await processes[Symbol.asyncDispose]();
      state.close();
    },
  };
};
