import { availableParallelism } from "node:os";
import { LlmcError, toLlmcError } from "../base/error.ts";
import type { Loaded } from "../config/load.ts";
import type { UserFolders } from "../config/user-folders.ts";
import { createEnvelope } from "../envelope/envelope.ts";
import { envelopeSettings } from "../envelope/settings.ts";
import { serveTeCommand } from "../envelope/te-command.ts";
import { isFolderName } from "../host/os/local-model.ts";
import { programPlaces } from "../host/os/program-places.ts";
import { tokenCounter } from "../host/os/token-counter.ts";
import { createProcesses } from "../host/processes/processes.ts";
import { createOwnWrites } from "../host/reach/own-writes.ts";
import { createWithheldFiles } from "../host/reach/withheld-files.ts";
import { createCommands } from "../host/run/commands.ts";
import { createCommandRunner } from "../host/run/runner.ts";
import { createLocks } from "../host/state/locks/locks.ts";
import { createStateDb } from "../host/state/state-db.ts";
import { createUsage } from "../host/state/usage/usage.ts";
import { recoverWrites } from "../host/write/file-writes.ts";
import { explainRefused } from "../host/write/recovery.ts";
import type { Log } from "../observe/log.ts";
import { shownPath } from "../policy/paths.ts";
import { createCallerRetrieval } from "../retrieve/caller-retrieval.ts";
import { createThreadRetrieval } from "../retrieve/thread-retrieval.ts";
import { createReach, type Reach } from "./engine-reach.ts";
import { currentPort } from "./lazy-port.ts";
import { VERSION } from "./version.ts";

interface EngineParts {
  readonly root: string;
  readonly config: () => Loaded["config"];
  /** The configuration file in force, whether it exists yet or not. */
  readonly configFile: () => string;
  /** The user's own folders: what lies there is the operator's word, so no caller writes it. */
  readonly folders: UserFolders;
  /** Folders of custom modules that the workspace asks for and is not trusted with yet. */
  readonly waitingModules?: () => readonly string[];
  /** What trust in the workspace would change about a refusal. */
  readonly trustHint?: (key: string, item: string) => string | undefined;
  readonly log: Log;
  /** Told of every command: how it was shown, and how long it took in all. */
  readonly onCommand?: (mode: string, latencyMs: number) => void;
}

/** Each holds its grammars, up to 350 MB with many languages; four keep a large tree under a gigabyte. */
const MAX_INDEX_THREADS = 4;

/** A guide for agents that is longer than this is not read to its end. */
const MAX_GUIDE = { offsetLines: 0, maxLines: 5000, maxBytes: 262_144 };

/** What tools work with, wired. Loaded on first use: see `lazyPort`. */
export const createEngines = (parts: EngineParts) => {
  const { root, config, configFile, folders, log, onCommand, trustHint } = parts;
  const waitingModules = parts.waitingModules ?? (() => []);
  const tools = () => config().mcp.tools;
  const rag = () => config().mcp.rag;
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
  const runner = createCommandRunner({ mode: () => tools().command_sandbox });
  const withheldFiles = createWithheldFiles();
  const ownWrites = createOwnWrites();
  // Whoever writes these changes what the server itself does (REQ-D16).
  const places = () => ({
    user: [folders.config, folders.state],
    program: programPlaces(),
    config: [configFile()],
    modules: [tools().custom_modules, ...waitingModules()].filter((folder) => folder !== ""),
    models: rag().embedder === "onnx" && isFolderName(rag().embedder_model) ? [rag().embedder_model] : [],
    startup: config().mcp.resources.sidecars,
  });

  const reachParts = {
    root,
    folders,
    config,
    state,
    locks,
    runner,
    places,
    withheldFiles,
    ownWrites,
    trustHint,
    now,
  };
  const main = createReach(reachParts, "mcp.tools.allowed_roots", () => tools().allowed_roots);
  const { files, handles, gate } = main;

  /** Roots of the linux_* tools, where they have their own. */
  const linuxRoots = (): readonly string[] | null => {
    const { enforce_roots: enforces, allowed_roots: own } = config().mcp.linux_ops.roots;
    return enforces ? own : ["/"];
  };
  let apart: Reach | undefined;
  const linux = (): Reach => {
    if (linuxRoots() === null) return main;
    apart ??= createReach(
      reachParts,
      "mcp.linux_ops.roots.allowed_roots",
      () => linuxRoots() ?? tools().allowed_roots,
    );
    return apart;
  };
  const commands = createCommands(gate, runner);
  const processes = createProcesses({
    gate: currentPort(() => linux().gate),
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
  const usage = createUsage({ state, retentionDays: () => config().mcp.te.retention_days, now });
  const warned = new Set<string>();
  const envelope = serveTeCommand({
    envelope: createEnvelope({
      launch: ({ argv, onOutput, ...call }, signal) =>
        // The envelope keeps the output; of what is kept here, only a launcher's own complaint is ever read.
        gate.pass({ ...call, command: argv, maxOutputBytes: 4096 }, signal, async ({ request, profile }) => {
          const outcome = await runner.run({ ...request, onOutput }, profile, signal);
          return {
            ...outcome,
            setAside: outcome.setAside.map(
              ({ path, movedTo }) => `${shownPath(path, root)} -> ${shownPath(movedTo, root)}`,
            ),
          };
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
  const recovered = recoverWrites(main.writing).then(
    (recovery) => {
      if (recovery.refused > 0) log.warn({ files: recovery.refused }, explainRefused(recovery));
    },
    () => log.warn({}, "what a killed process left behind could not be looked at"),
  );
  return {
    files,
    writes: main.writes,
    search: main.search,
    handles,
    /** The same for linux_* tools, which may have roots of their own. */
    linux: {
      files: currentPort(() => linux().files),
      writes: currentPort(() => linux().writes),
      search: currentPort(() => linux().search),
      handles: currentPort(() => linux().handles),
      system: currentPort(() => linux().system),
    },
    locks,
    commands,
    processes,
    system: main.system,
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
