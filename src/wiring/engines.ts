import { toLlmcError } from "../base/error.ts";
import type { Loaded } from "../config/load.ts";
import type { UserFolders } from "../config/user-folders.ts";
import { programFiles } from "../host/os/program-files.ts";
import { createProcesses } from "../host/processes/processes.ts";
import { createOwnWrites } from "../host/reach/own-writes.ts";
import { createWithheldFiles } from "../host/reach/withheld-files.ts";
import type { LiveWriters } from "../host/run/live-writers.ts";
import { type CommandStarter, createCommandRunner, type RunnerOptions } from "../host/run/runner.ts";
import { showQuarantined } from "../host/run/scan/quarantined.ts";
import { removeAbandonedFolders } from "../host/run/tiers/server-folder.ts";
import { createManagedWriters } from "../host/run/write-locks/managed-writers.ts";
import { createWriteLocks } from "../host/run/write-locks/write-locks.ts";
import { readOperatorWrite } from "../host/trust/operator-writes.ts";
import { recoverWrites } from "../host/write/file-writes.ts";
import type { Log } from "../observe/log.ts";
import type { GrantedPaths } from "../policy/permit.ts";
import { closedPaths, judgeWrite } from "../policy/reach.ts";
import type { EnginePorts } from "../tools/tool.ts";
import { configuredPaths, configuredState } from "./configured-paths.ts";
import { createCommandEnvelope } from "./envelope-wiring.ts";
import { createKnowledgeEngine, type KnowledgeWiring } from "./knowledge-wiring.ts";
import { currentPort } from "./lazy-port.ts";
import { openState } from "./open-state.ts";
import { createPathPorts, type PathParts, type PathPorts, secretsOf } from "./path-ports.ts";
import { policyPaths } from "./policy-texts.ts";
import { createProgramEngine } from "./programs-wiring.ts";
import { createRetrieval } from "./retrieval-wiring.ts";
import { type ModelRecords, openRlm } from "./rlm-wiring.ts";

interface EngineParts {
  readonly root: string;
  readonly config: () => Loaded["config"];
  /** The files that the configuration comes from, whether they exist yet or not. */
  readonly configFiles: () => readonly string[];
  /** The user's own folders: only the operator may write there, so no caller does. */
  readonly folders: UserFolders;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folders of custom modules, executables and flows that the workspace asks for and is not trusted with yet. */
  readonly waitingModules?: () => readonly string[];
  /** Of flows that are the workspace's content, those that were granted. */
  readonly flowDigests: KnowledgeWiring["flowDigests"];
  /** What trust in the workspace would change about a refusal, in one sentence. */
  readonly trustHint?: (key: string, item: string) => string | undefined;
  readonly log: Log;
  /** Where calls of models are recorded and counted; without it, nobody is offered an analysis. */
  readonly models?: ModelRecords;
  /** Told of the commands that may write. */
  readonly writers?: LiveWriters;
  /** Keeps answers of knowledge bases; without it, none is kept. */
  readonly knowledgeCache?: KnowledgeWiring["cache"];
  /** Called for every command with its output mode and total duration. */
  readonly onCommand?: (mode: string, latencyMs: number) => void;
}

/** Whoever writes these paths changes what the server itself does (REQ-D16). */
const obeyedPaths = ({ root, config, configFiles, folders, env }: EngineParts) => {
  const { modules, models, startup, ...configured } = configuredPaths(config());
  return {
    modules,
    models,
    startup,
    user: [folders.config, folders.state],
    program: programFiles(env),
    // The user's folder once more: what its files link to is not in it, but read as if it were.
    config: [
      ...configFiles(),
      folders.config,
      ...policyPaths(config(), { root, folders }),
      ...configured.config,
    ],
  };
};

/** What keeps commands from changing or making something at a path. */
const closedToCommands = (reach: PathPorts["writing"]["reach"]) => (path: string) => {
  const { reachRules } = reach.current();
  const isThere = reachRules.entryKind(path) !== undefined;
  return judgeWrite(path, "commands", reachRules, isThere ? "change" : "create");
};

/** Path ports within the roots of all tools, and within those of the linux_* tools where they have their own. */
const createBothPathPorts = (parts: PathParts) => {
  const { config } = parts;
  const main = createPathPorts(parts, "mcp.tools.allowed_roots", () => config().mcp.tools.allowed_roots);
  const linuxRoots = (): readonly string[] | null => {
    const { enforce_roots: enforces, allowed_roots: own } = config().mcp.linux_ops.roots;
    return enforces ? own : ["/"];
  };
  let apart: PathPorts | undefined;
  const linux = (): PathPorts => {
    if (linuxRoots() === null) return main;
    apart ??= createPathPorts(
      parts,
      "mcp.linux_ops.roots.allowed_roots",
      () => linuxRoots() ?? config().mcp.tools.allowed_roots,
    );
    return apart;
  };
  /** With paths that somebody allowed for a call besides the roots. */
  const outside = (kind: "main" | "linux", granted: GrantedPaths): PathPorts =>
    createPathPorts(
      parts,
      "mcp.tools.allowed_roots",
      () => (kind === "linux" ? linuxRoots() : null) ?? config().mcp.tools.allowed_roots,
      granted,
    );
  return { main, linux, outside };
};

const openProcesses = (
  { root, config }: Pick<EngineParts, "root" | "config">,
  { gate, lines }: Pick<PathPorts, "gate" | "lines">,
  runner: CommandStarter,
) =>
  createProcesses({
    root,
    gate,
    lines,
    runner,
    settings: () => {
      const { tools } = config().mcp;
      return {
        enabled: tools.enable_run_cmd,
        idleMs: tools.process_idle_seconds * 1000,
        maxLockMs: Math.max(tools.exec_timeout, tools.max_exec_timeout) * 1000,
        maxProcesses: tools.max_processes,
        maxPerSession: tools.max_processes_per_session,
        killForeign: tools.kill_foreign_processes,
      };
    },
    now: () => performance.now(),
  });

/** Finishes or undoes what a killed process left half-written. */
const recover = (writing: PathPorts["writing"], log: Log): Promise<void> =>
  recoverWrites(writing).then(
    ({ refused, failed }) => {
      if (refused > 0)
        log.warn(
          { files: refused },
          "the write journal contains records that are damaged or that llmc did not write; they were not applied, but renamed to *.refused-…",
        );
      // An error, so that commands for people say it, too: the files are not as anybody wanted them.
      if (failed > 0)
        log.error(
          { files: failed },
          "a killed process left a change of files half done, and it cannot be undone now: check the files of the last change (git status)",
        );
    },
    (error: unknown) =>
      log.error(
        { reason: toLlmcError(error).message },
        "whether a killed process left a change of files half done cannot be known",
      ),
  );

const pathPortsOf = ({ files, writes, search, handles, system }: PathPorts) => ({
  files,
  writes,
  search,
  handles,
  system,
});

/** What programs do not see, wherever it lies: llmc's own folders, and roots where they work without any. */
const closedToPrograms = (all: readonly PathPorts[]) => {
  const reaches = all.map(({ writing }) => writing.reach.current());
  return {
    folders: reaches.flatMap(({ reachRules }) => closedPaths("commands", reachRules)),
    roots: reaches.flatMap(({ rules }) => rules.roots),
  };
};

/** Of what a command left, in one line of the log. */
const MAX_LOGGED = 1000;

/** The user may have made such a file while the command ran, and does not see the answer. */
const logQuarantined = ({ renamed, unresolved }: ReturnType<typeof showQuarantined>, log: Log): void => {
  if (renamed.length > 0)
    log.warn(
      { renamed },
      "files that programs obey appeared while a command ran and were renamed; mv brings back what is yours",
    );
  if (unresolved.length > 0)
    log.warn({ unresolved }, "a command may have left files there that programs obey; they were not renamed");
};

const openRunner = (
  { root, config, folders, log, writers }: EngineParts,
  closed: NonNullable<RunnerOptions["closed"]>,
) =>
  createCommandRunner({
    mode: () => config().mcp.tools.command_sandbox,
    gitFolder: folders.git,
    closed,
    ...(writers === undefined ? {} : { writers }),
    onQuarantined: (quarantined) => logQuarantined(showQuarantined(quarantined, root, MAX_LOGGED), log),
  });

/**
 * Creates the engines that tools use. Loaded on first use: see `lazyPort`. Nobody gets them before the journal is
 * recovered, so no call and no command sees a change of many files half done.
 */
export const createEngines = async (parts: EngineParts) => {
  const { root, config, folders, log } = parts;
  const { state, locks, usage, now } = openState(parts);
  // Nobody waits for it: the next start goes on with what it did not get done.
  void removeAbandonedFolders().catch(() => {});
  const runner = openRunner(parts, () => ({ ...closedToPrograms([main]), roots: [] }));
  const withheldFiles = createWithheldFiles();
  const ownWrites = createOwnWrites((path) => readOperatorWrite(folders.state, path));
  const { main, linux, outside } = createBothPathPorts({
    root,
    folders,
    config,
    state,
    locks,
    runner,
    writeLocks: createWriteLocks(folders.state),
    managed: createManagedWriters(folders.state),
    ...configuredState(config),
    obeyedPaths: () => obeyedPaths(parts),
    waitingModules: () => (parts.waitingModules?.() ?? []).filter((path) => path !== ""),
    withheldFiles,
    obeyedFiles: createWithheldFiles(),
    ownWrites,
    trustHint: parts.trustHint,
    now,
    env: parts.env,
  });
  const { files, handles, lines, writing, gate } = main;
  const processes = openProcesses(
    parts,
    { gate: currentPort(() => linux().gate), lines: currentPort(() => linux().lines) },
    runner,
  );
  const envelope = createCommandEnvelope({
    root,
    config,
    lines,
    handles,
    usage,
    log,
    closedAt: closedToCommands(writing.reach),
    onCommand: parts.onCommand,
  });
  const { retrieval, close: closeIndex } = createRetrieval({
    root,
    config,
    folders,
    files,
    withheldFiles,
    log,
  });
  const knowledge = createKnowledgeEngine({ ...parts, cache: parts.knowledgeCache });
  const { programs, interpreters } = createProgramEngine(config, parts.env, {
    root,
    userState: folders.state,
    closed: () => closedToPrograms([main, linux()]),
    obeyedPaths: () => obeyedPaths(parts),
    secretsElsewhere: () => secretsOf([main, linux()]),
  });
  const rlm = openRlm({ ...parts, userState: folders.state, interpreters, locks, ownWrites });
  await recover(writing, log);
  const shared = { envelope, processes, retrieval, programs, rlm, knowledge: knowledge.port };
  const ports: EnginePorts = { ...pathPortsOf(main), ...shared };
  return {
    ...ports,
    /** The same for linux_* tools, which may have roots of their own. */
    linux: (): EnginePorts => ({ ...ports, ...pathPortsOf(linux()) }),
    outside: (kind: "main" | "linux", granted: GrantedPaths): EnginePorts => ({
      ...ports,
      ...pathPortsOf(outside(kind, granted)),
    }),
    /** Where commands are judged: what it would hand to policy can be asked beforehand. */
    gate,
    knowledgeEngine: knowledge.open,
    locks,
    usage,
    processes,
    tier: () => runner.tier(),
    /** Throws if the state database cannot be read. */
    checkState: (): void => state.read(() => {}),
    close: async () => {
      // First of all, and whatever else fails: what running commands left is checked when they end.
      const ended = await Promise.allSettled([
        programs.close(),
        processes[Symbol.asyncDispose](),
        runner[Symbol.asyncDispose](),
        closeIndex(),
        knowledge.close(),
      ]);
      state.close();
      for (const end of ended) if (end.status === "rejected") throw end.reason;
    },
  };
};

export type Engines = Awaited<ReturnType<typeof createEngines>>;
