import type { Loaded } from "./config/load.ts";
import { createCommandGate, createCommands } from "./host/commands/commands.ts";
import { createCommandRunner } from "./host/commands/runner.ts";
import { createFiles } from "./host/files/files.ts";
import { createHandles, newHandleId } from "./host/handles/handles.ts";
import { createLocks } from "./host/locks/locks.ts";
import { createSearch, renderHitLines } from "./host/search/search.ts";
import { createStateDb } from "./host/state-db.ts";
import { createFileWrites, recoverWrites } from "./host/writes/file-writes.ts";
import type { Log } from "./observe/log.ts";

interface EngineParts {
  readonly root: string;
  readonly config: () => Loaded["config"];
  /** The configuration file in force, whether it exists yet or not. */
  readonly configFile: () => string;
  readonly log: Log;
}

const MIB = 1024 * 1024;

/** What tools work with, wired. Loaded on first use: see `lazyPort`. */
export const createEngines = ({ root, config, configFile, log }: EngineParts) => {
  const tools = () => config().mcp.tools;
  const access = {
    workspace: root,
    roots: () => tools().allowed_roots,
    denylist: () => tools().denylist_globs,
  };
  const state = createStateDb({
    workspace: root,
    onWarning: (reason) => log.warn({ reason }, "state database"),
  });
  const now = () => Date.now();
  const locks = createLocks({
    state,
    workspace: root,
    settings: () => ({
      waitMs: config().mcp.locks.wait_seconds * 1000,
      leaseMs: config().mcp.locks.lease_seconds * 1000,
    }),
    now,
    pid: process.pid,
  });
  const files = createFiles(access);
  const handles = createHandles({
    state,
    files,
    workspace: root,
    limits: () => {
      const { ttl_seconds, max_total_mb, max_each_mb } = config().mcp.handles;
      return { ttlSeconds: ttl_seconds, maxTotalBytes: max_total_mb * MIB, maxBytesEach: max_each_mb * MIB };
    },
    now,
    newId: newHandleId,
    pid: process.pid,
    renderers: { search_hits: renderHitLines(files) },
  });
  const writing = {
    ...access,
    locks,
    writeDenylist: () => tools().write_denylist_globs,
    // Whoever writes these changes what the server itself may do (REQ-D16).
    protectedPaths: () => [
      "llmc.toml",
      configFile(),
      ...(tools().custom_modules === "" ? [] : [tools().custom_modules]),
    ],
  };
  const runner = createCommandRunner({ mode: () => tools().command_sandbox });
  const gate = createCommandGate({
    ...access,
    runner,
    protectedPaths: writing.protectedPaths,
    settings: () => ({
      enabled: tools().enable_run_cmd,
      allowlist: tools().run_cmd_allowlist,
      powers: tools().command_powers,
      network: tools().allow_outbound_network,
      timeoutSeconds: tools().exec_timeout,
    }),
  });
  const commands = createCommands(gate, runner);
  const recovered = recoverWrites(writing).catch(() =>
    log.warn({}, "what a killed process left behind could not be looked at"),
  );
  const search = createSearch({ ...access, files, handles, timeoutMs: () => tools().read_timeout * 1000 });
  return {
    files,
    writes: createFileWrites(writing),
    search,
    handles,
    locks,
    commands,
    close: async () => {
      await recovered;
      await runner[Symbol.asyncDispose]();
      state.close();
    },
  };
};

export type Engines = ReturnType<typeof createEngines>;
