import { resolve } from "node:path";
import type { Loaded } from "../config/load.ts";
import type { UserFolders } from "../config/user-folders.ts";
import { createSystem } from "../host/os/system.ts";
import { createAccess } from "../host/reach/access.ts";
import { createObeyedBeside } from "../host/reach/obeyed-beside.ts";
import type { OwnWrites } from "../host/reach/own-writes.ts";
import { type CallerReach, createReach, type ReachOptions } from "../host/reach/reach.ts";
import type { WithheldFiles } from "../host/reach/withheld-files.ts";
import { createFiles, type Files } from "../host/read/files.ts";
import type { CommandRunner } from "../host/run/contract.ts";
import { createLineRunner } from "../host/run/line/line-runner.ts";
import { createPermittedGate } from "../host/run/permitted-gate.ts";
import { createScans, secretsIn } from "../host/run/scan/workspace-scan.ts";
import { findUserProgram } from "../host/run/user-programs/find-program.ts";
import type { ManagedWriters } from "../host/run/write-locks/managed-writers.ts";
import type { WriteLocks } from "../host/run/write-locks/write-locks.ts";
import { createGrep, createSearch, hitSearchTexts, renderHitLines } from "../host/search/search.ts";
import type { Database } from "../host/state/database/database.ts";
import { versionOf } from "../host/state/handles/file.ts";
import { createHandles, newHandleId } from "../host/state/handles/handles.ts";
import type { Locks } from "../host/state/locks/locks.ts";
import { createFileWrites } from "../host/write/file-writes.ts";
import { isListed } from "../policy/commands.ts";
import type { GrantedPaths } from "../policy/permit.ts";

export interface PathParts {
  readonly root: string;
  readonly config: () => Loaded["config"];
  readonly state: Database;
  readonly locks: Locks;
  readonly runner: Pick<CommandRunner, "tier" | "runTogether" | "inSlot">;
  readonly writeLocks: WriteLocks;
  readonly managed: ManagedWriters;
  readonly folders: UserFolders;
  readonly stateFolders: NonNullable<ReachOptions["stateFolders"]>;
  readonly stateFiles: NonNullable<ReachOptions["stateFiles"]>;
  readonly obeyedPaths: NonNullable<ReachOptions["obeyedPaths"]>;
  readonly waitingModules: () => readonly string[];
  readonly withheldFiles: WithheldFiles;
  readonly obeyedFiles: WithheldFiles;
  readonly ownWrites: OwnWrites;
  /** What trust in the workspace would change about a refusal, in one sentence. */
  readonly trustHint: ((key: string, item: string) => string | undefined) | undefined;
  readonly now: () => number;
  /** Where the user's shell looks for programs. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

const MIB = 1024 * 1024;

const openHandles = (parts: PathParts, reach: CallerReach, files: Files) => {
  const { root, config } = parts;
  const hitSource = { files, versionOf: (path: string) => versionOf(resolve(root, path)) };
  return createHandles({
    state: parts.state,
    files,
    workspace: root,
    limits: () => {
      const { ttl_seconds, max_total_mb, max_each_mb } = config().mcp.handles;
      return { ttlSeconds: ttl_seconds, maxTotalBytes: max_total_mb * MIB, maxBytesEach: max_each_mb * MIB };
    },
    now: parts.now,
    newId: newHandleId,
    pid: process.pid,
    renderers: { search_hits: renderHitLines(hitSource) },
    searchTexts: { search_hits: hitSearchTexts(hitSource, reach) },
    grep: createGrep(() => config().mcp.tools.read_timeout * 1000),
  });
};

/** The ports that work on paths, within some roots. `rootsKey` is the configuration key that they come from. */
export const createPathPorts = (
  parts: PathParts,
  rootsKey: string,
  roots: () => readonly string[],
  granted?: GrantedPaths,
) => {
  const { root, config, locks, runner, trustHint } = parts;
  const tools = () => config().mcp.tools;
  const reach = createReach({
    workspace: root,
    roots,
    ...(granted && { granted }),
    denylist: () => tools().denylist_globs,
    startup: () => tools().startup_globs,
    gitDirectories: () => tools().git_directories,
    stateFolders: parts.stateFolders,
    stateFiles: parts.stateFiles,
    obeyedPaths: parts.obeyedPaths,
    waitingModules: parts.waitingModules,
    withheldFiles: parts.withheldFiles,
    obeyedFiles: parts.obeyedFiles,
    obeyedBeside: createObeyedBeside(),
    ownWrites: parts.ownWrites,
    outsideHint: (path: string) => trustHint?.(rootsKey, path),
  });
  const files = createFiles(reach);
  const handles = openHandles(parts, reach, files);
  const scans = createScans(reach);
  const writing = { reach, userState: parts.folders.state, locks, ready: scans.knowObeyed };
  const timeouts = () => ({
    timeoutSeconds: tools().exec_timeout,
    maxTimeoutSeconds: Math.max(tools().exec_timeout, tools().max_exec_timeout),
  });
  const gate = createPermittedGate({
    reach,
    scans,
    runner,
    locks,
    findProgram: (name) =>
      findUserProgram(name, {
        home: parts.folders.home,
        workspace: root,
        otherRoots: reach.current().rules.roots,
        env: parts.env,
      }),
    writeLocks: parts.writeLocks,
    managed: parts.managed,
    gitFolder: parts.folders.git,
    programHint: (program) =>
      trustHint?.("mcp.tools.run_cmd_allowlist", program) ?? trustHint?.("mcp.tools.command_powers", program),
    settings: () => ({
      enabled: tools().enable_run_cmd,
      allowlist: tools().run_cmd_allowlist,
      powers: tools().command_powers,
      network: tools().allow_outbound_network,
      ...timeouts(),
      readPaths: tools().command_read_paths.map((path) => resolve(root, path)),
      limits: {
        memoryBytes: tools().command_memory_mb * MIB,
        processes: tools().command_processes,
        fileBytes: tools().command_file_mb * MIB,
      },
    }),
  });
  const writes = createFileWrites(writing);
  const lines = createLineRunner({
    gate,
    runner,
    access: createAccess(reach),
    writes: createFileWrites({ ...writing, actor: "commands" }),
    isListed: (program) => isListed(program, tools().run_cmd_allowlist),
    resolve: (path) => resolve(root, path),
    timeouts,
  });
  return {
    files,
    handles,
    writing,
    /** Files in the roots that are withheld by their names. */
    secrets: async () => secretsIn(await scans.now().scan.current()),
    gate,
    lines,
    writes,
    search: createSearch({ reach, files, handles, timeoutMs: () => tools().read_timeout * 1000 }),
    system: createSystem({ roots: () => roots().map((shown) => ({ shown, path: resolve(root, shown) })) }),
  };
};

export type PathPorts = ReturnType<typeof createPathPorts>;

export const secretsOf = async (all: readonly PathPorts[]): Promise<readonly string[]> =>
  (await Promise.all([...new Set(all)].map(({ secrets }) => secrets()))).flat();
