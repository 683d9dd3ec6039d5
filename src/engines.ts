import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { LlmcError, toLlmcError } from "./base/error.ts";
import { tokenCounter } from "./base/tokens.ts";
import type { Loaded } from "./config/load.ts";
import type { UserFolders } from "./config/user-folders.ts";
import { createEnvelope } from "./envelope/envelope.ts";
import { envelopeSettings } from "./envelope/settings.ts";
import { serveTeCommand } from "./envelope/te-command.ts";
import { createCommandGate, createCommands } from "./host/commands/commands.ts";
import { createCommandRunner } from "./host/commands/runner.ts";
import { createFiles } from "./host/files/files.ts";
import { createHandles, newHandleId } from "./host/handles/handles.ts";
import { isFolderName } from "./host/local-model.ts";
import { createLocks } from "./host/locks/locks.ts";
import { createProcesses } from "./host/processes/processes.ts";
import { programPlaces } from "./host/program-places.ts";
import type { ReachOptions } from "./host/reach/reach.ts";
import { createWithheldFiles } from "./host/reach/withheld-files.ts";
import { createSearch, renderHitLines } from "./host/search/search.ts";
import { createStateDb } from "./host/state-db.ts";
import { createSystem } from "./host/system/system.ts";
import { createUsage } from "./host/usage/usage.ts";
import { createFileWrites, recoverWrites } from "./host/writes/file-writes.ts";
import type { Log } from "./observe/log.ts";
import { createCallerRetrieval } from "./retrieve/caller-retrieval.ts";
import { createThreadRetrieval } from "./retrieve/thread-retrieval.ts";
import { VERSION } from "./version.ts";

interface EngineParts {
  readonly root: string;
  readonly folders: UserFolders;
  readonly config: () => Loaded["config"];
  /** The configuration file in force, whether it exists yet or not. */
  readonly configFile: () => string;
  readonly log: Log;
  /** Told of every command: how it was shown, and how long it took in all. */
  readonly onCommand?: (mode: string, latencyMs: number) => void;
}

const MIB = 1024 * 1024;

/** Each holds its grammars, up to 350 MB with many languages; four keep a large tree under a gigabyte. */
const MAX_INDEX_THREADS = 4;

/** A guide for agents that is longer than this is not read to its end. */
const MAX_GUIDE = { offsetLines: 0, maxLines: 5000, maxBytes: 262_144 };

/** What tools work with, wired. Loaded on first use: see `lazyPort`. */
export const createEngines = ({ root, folders, config, configFile, log, onCommand }: EngineParts) => {
  const tools = () => config().mcp.tools;
  const rag = () => config().mcp.rag;
  const withheldFiles = createWithheldFiles();
  const reach: ReachOptions = {
    workspace: root,
    roots: () => tools().allowed_roots,
    denylist: () => tools().denylist_globs,
    startup: () => tools().startup_globs,
    withheldFiles,
    // Whoever writes these changes what the server itself does (REQ-D16).
    places: () => ({
      user: [folders.config, folders.state],
      program: programPlaces(),
      config: [configFile()],
      modules: tools().custom_modules === "" ? [] : [tools().custom_modules],
      models: rag().embedder === "onnx" && isFolderName(rag().embedder_model) ? [rag().embedder_model] : [],
      startup: config().mcp.resources.sidecars,
    }),
  };
  const state = createStateDb({
    workspace: root,
    userState: folders.state,
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
  const files = createFiles(reach);
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
  const writing = { ...reach, userState: folders.state, locks };
  const runner = createCommandRunner({ mode: () => tools().command_sandbox });
  const gate = createCommandGate({
    ...reach,
    runner,
    settings: () => ({
      enabled: tools().enable_run_cmd,
      allowlist: tools().run_cmd_allowlist,
      powers: tools().command_powers,
      network: tools().allow_outbound_network,
      timeoutSeconds: tools().exec_timeout,
      limits: {
        memoryBytes: tools().command_memory_mb * MIB,
        processes: tools().command_processes,
        fileBytes: tools().command_file_mb * MIB,
      },
    }),
  });
  const commands = createCommands(gate, runner);
  const processes = createProcesses({
    gate,
    runner,
    settings: () => ({
      enabled: tools().enable_run_cmd,
      idleMs: tools().idle_timeout * 1000,
      maxProcesses: tools().max_processes,
      maxPerSession: tools().max_processes_per_session,
      killForeign: tools().kill_foreign_processes,
    }),
    now: () => performance.now(),
  });
  const system = createSystem({
    roots: () => tools().allowed_roots.map((shown) => ({ shown, path: resolve(root, shown) })),
  });
  const usage = createUsage({ state, retentionDays: () => config().mcp.te.retention_days, now });
  const warned = new Set<string>();
  const envelope = serveTeCommand({
    envelope: createEnvelope({
      launch: ({ words, onOutput, ...call }, signal) =>
        // The envelope keeps the output; of what is kept here, only a launcher's own complaint is ever read.
        gate.pass({ ...call, command: words, maxOutputBytes: 4096 }, signal, async ({ request, profile }) => {
          const outcome = await runner.run({ ...request, onOutput }, profile, signal);
          return { ...outcome, setAside: outcome.setAside.map(({ path }) => path) };
        }),
      handles,
      usage,
      settings: () => envelopeSettings(config().mcp.te, config().mcp.handles.max_each_mb),
      onFailure: (what, error) => {
        if (warned.has(what)) return;
        warned.add(what);
        log.warn({ what, code: toLlmcError(error).code }, "the envelope went on without a part of its own");
      },
      onDone: onCommand,
    }),
    handles,
    usage,
    isEnabled: () => config().mcp.te.enabled,
    defaults: () => ({
      agentId: config().mcp.session.default_agent_id,
      model: config().mcp.session.default_model,
    }),
    version: VERSION,
  });
  const index = createThreadRetrieval({
    workspace: root,
    userState: folders.state,
    settings: () => ({
      roots: tools().allowed_roots,
      denylist: tools().denylist_globs,
      closed: [folders.config, folders.state],
      withheldFiles: withheldFiles.keys(),
      maxFileBytes: rag().max_file_kb * 1024,
      watch: rag().watch,
      threads: rag().index_threads || Math.min(MAX_INDEX_THREADS, availableParallelism()),
    }),
    onWarning: (reason) => log.warn({ reason }, "index"),
    onnx: rag().embedder === "onnx" ? { workspace: root, model: rag().embedder_model } : undefined,
  });
  const retrieval = createCallerRetrieval({
    engine: index,
    limits: () => ({
      topK: rag().top_k,
      tokenBudget: rag().token_budget,
      defaultScope: rag().default_scope,
    }),
    readText: async (path, signal) => {
      try {
        return (await files.readText(path, MAX_GUIDE, signal)).text;
      } catch (thrown) {
        if (thrown instanceof LlmcError && thrown.code !== "cancelled") return undefined;
        throw thrown;
      }
    },
    countTokens: tokenCounter,
  });
  const recovered = recoverWrites(writing).then(
    ({ refused }) => {
      if (refused > 0) log.warn({ files: refused }, "the write journal held records that llmc did not write");
    },
    () => log.warn({}, "what a killed process left behind could not be looked at"),
  );
  const search = createSearch({ ...reach, files, handles, timeoutMs: () => tools().read_timeout * 1000 });
  return {
    files,
    writes: createFileWrites(writing),
    search,
    handles,
    locks,
    commands,
    processes,
    system,
    envelope,
    usage,
    retrieval,
    close: async () => {
      await recovered;
      await index.close();
      await processes[Symbol.asyncDispose]();
      await runner[Symbol.asyncDispose]();
      state.close();
    },
  };
};

export type Engines = ReturnType<typeof createEngines>;
