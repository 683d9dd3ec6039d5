import { realpathSync, type Stats, statSync } from "node:fs";
import { posix } from "node:path";
import { LlmcError, withHint } from "../../base/error.ts";
import { excludeNames, gitShowsSecrets } from "../../policy/command-exclusions.ts";
import { changedFolders, subcommandOf } from "../../policy/command-git.ts";
import { parseCommandLine } from "../../policy/command-line.ts";
import { commandDenied, judgeCommand } from "../../policy/commands.ts";
import { insideRoots, pathDenied } from "../../policy/paths.ts";
import { SYSTEM_PATH } from "../os/system-programs.ts";
import { createAccess } from "../reach/access.ts";
import { createReach, type ReachOptions, type Surroundings } from "../reach/reach.ts";
import { findRipgrep } from "../search/ripgrep.ts";
import type {
  CommandLimits,
  CommandOutcome,
  CommandRequest,
  CommandRunner,
  SandboxProfile,
  Tier,
} from "./contract.ts";
import {
  checkRepository,
  findRepository,
  type GitRepository,
  hasSubmodules,
  programsOff,
} from "./git-repository.ts";
import { createTrackedFinder } from "./git-tracked.ts";
import { setNewFindingsAside } from "./new-findings.ts";
import { resolveProgram } from "./resolve.ts";
import { buildProfile } from "./sandbox-profile.ts";
import { createWorkspaceScan } from "./workspace-scan.ts";

export interface CommandCall {
  /** A command line with quotes, or the program and its arguments, which are then taken as they are. */
  readonly command: string | readonly string[];
  /** As the caller wrote it; left out: the workspace. */
  readonly cwd: string | undefined;
  readonly timeoutSeconds: number | undefined;
  readonly maxOutputBytes: number;
  /** Told to the command as `TE_AGENT_ID`, `TE_SESSION_ID` and `TE_MODEL`. */
  readonly session?: CommandSession | undefined;
}

export interface CommandSession {
  readonly agentId: string;
  readonly sessionId: string;
  readonly model: string;
}

/** A caller's commands. */
export interface Commands {
  run(call: CommandCall, signal?: AbortSignal): Promise<CommandOutcome>;
  tier(): Promise<Tier>;
}

/** What has passed the gate: nothing else is ever started. */
export interface JudgedCommand {
  readonly request: CommandRequest;
  readonly profile: SandboxProfile;
  /** As the caller wrote it, split into words. */
  readonly words: readonly [string, ...string[]];
}

/** The one gate for every way of running something. */
export interface CommandGate {
  /** The working directory is held open while the work runs. */
  pass<T>(
    call: CommandCall,
    signal: AbortSignal | undefined,
    work: (judged: JudgedCommand) => Promise<T>,
  ): Promise<T>;
}

interface GateOptions extends ReachOptions {
  readonly runner: Pick<CommandRunner, "tier">;
  readonly settings: () => {
    readonly enabled: boolean;
    readonly allowlist: readonly string[];
    readonly powers: readonly string[];
    readonly network: boolean;
    /** Deadline where the call names none, and the most that a call may ask for. */
    readonly timeoutSeconds: number;
    readonly limits: CommandLimits;
  };
  /** What the operator could still do about a refused program, in one sentence. */
  readonly programHint?: (program: string) => string | undefined;
}

const refuseDisabled = (): LlmcError =>
  new LlmcError("forbidden", "Running commands is switched off.", {
    hint: "The operator decides in mcp.tools.enable_run_cmd.",
  });

const refuseClosed = (): LlmcError =>
  new LlmcError("forbidden", "cwd lies in a folder that is closed to commands.", {
    hint: "It holds very many files that are withheld by name: see mcp.tools.denylist_globs.",
    details: { field: "cwd" },
  });

/** What may be a path in a word: all of it, the value of an option (`--file=x`, `-fx`), a file of a revision (`HEAD:x`). */
const pathsIn = (word: string): readonly string[] =>
  [
    word,
    ...(word.includes("=") ? [word.slice(word.indexOf("=") + 1)] : []),
    ...(word.includes(":") ? [word.slice(word.indexOf(":") + 1)] : []),
    ...(/^-[^-]./.test(word) ? [word.slice(2)] : []),
  ].filter((path) => path !== "" && !path.includes("\0"));

/** What a path leads to; undefined where nothing is there. */
const followed = (path: string): { readonly real: string; readonly stats: Stats } | undefined => {
  try {
    const real = realpathSync.native(path);
    return { real, stats: statSync(real) };
  } catch {
    return undefined;
  }
};

/** A secret that is named outright, or through a link, is refused in every tier; the sandbox hides the others. */
const refuseSecrets = (words: readonly string[], cwd: string, { rules, isWithheld }: Surroundings): void => {
  for (const path of words.flatMap(pathsIn)) {
    const named = posix.resolve(cwd, path);
    const found = followed(named);
    // What is not there is a pattern, a message or a branch, and nothing that could be read.
    if (found !== undefined && (isWithheld(named) || isWithheld(found.real, found.stats)))
      throw pathDenied(path, "denylist", rules);
  }
};

const refuseUnsure = (): LlmcError =>
  new LlmcError("forbidden", "git is not run in this repository: settings of one inside it cannot be read.", {
    hint: "A configuration that includes others, or is not UTF-8, is only read in a sandbox (see `llmc doctor`).",
  });

const refuseRecursive = (program: string): LlmcError =>
  new LlmcError("forbidden", `${program} goes through folders by itself, and would show withheld files.`, {
    hint: "No sandbox works on this machine (see `llmc doctor`). Use rg or grep, which can be told to leave them out.",
  });

/** The plain tier hides nothing from a program; some can be told what to leave out. */
const withoutNames = (
  program: string,
  [file, ...words]: readonly [string, ...string[]],
  secrets: readonly string[],
): readonly [string, ...string[]] => {
  const names = [...new Set(secrets.map((path) => posix.basename(path)))];
  const exclusion = excludeNames(program, words, names);
  if (exclusion.kind === "refused") throw refuseRecursive(program);
  return [file, ...exclusion.words];
};

/** Where nothing confines a command, a path that plainly leads outside is refused; a link inside the roots may still. */
const refuseOutside = (words: readonly string[], cwd: string, { rules }: Surroundings): void => {
  for (const word of words) {
    const isPath = word.startsWith("/") || word.split("/").includes("..");
    if (isPath && !insideRoots(posix.resolve(cwd, word), rules.roots))
      throw pathDenied(word, "outside", rules);
  }
};

const wordsOf = (command: CommandCall["command"]): readonly [string, ...string[]] => {
  if (typeof command === "string") return parseCommandLine(command);
  const [program, ...rest] = command;
  if (program === undefined || program === "")
    throw new LlmcError("invalid_args", "The command has no program.", { details: { field: "args" } });
  if (command.some((word) => word.includes("\0")))
    throw new LlmcError("invalid_args", "The command has a NUL character.", { details: { field: "args" } });
  return [program, ...rest];
};

const sessionEnv = (session: CommandSession | undefined): Readonly<Record<string, string>> =>
  session === undefined
    ? {}
    : { TE_AGENT_ID: session.agentId, TE_SESSION_ID: session.sessionId, TE_MODEL: session.model };

/** Where git looks for its repository, by real paths; what leaves the roots is refused in every tier. */
const gitFolder = (cwd: string, steps: readonly string[], { rules }: Surroundings): string => {
  const folder = steps.reduce((from, step) => {
    const next = posix.resolve(from, step);
    return followed(next)?.real ?? next;
  }, cwd);
  if (!insideRoots(folder, rules.roots)) throw pathDenied(steps.join(" -C "), "outside", rules);
  return folder;
};

const MAKES_REPOSITORY: ReadonlySet<string> = new Set(["init", "clone", "worktree", "submodule"]);

type Allowed = Extract<ReturnType<typeof judgeCommand>, { readonly allowed: true }>;

interface Prepared {
  readonly profile: SandboxProfile;
  readonly secrets: readonly string[];
  readonly gitSettings: readonly (readonly [string, string])[];
  readonly repository: GitRepository | undefined;
}

/** Makes the sandbox profile of a judged command from what lies in the roots right now. */
const createProfiler = (options: GateOptions) => {
  const currentReach = createReach(options);
  const scan = createWorkspaceScan(currentReach, () =>
    JSON.stringify([options.roots(), options.denylist(), options.startup?.() ?? []]),
  );
  const findTracked = createTrackedFinder();

  return async (
    { writes, git }: Allowed,
    words: readonly string[],
    cwd: string,
    tier: Tier,
  ): Promise<Prepared> => {
    const { network, limits } = options.settings();
    const around = currentReach();
    const { roots } = around.rules;
    // `-C` moves git before it looks for its repository.
    const folder = git === undefined ? cwd : gitFolder(cwd, changedFolders(words), around);
    const repository = git === undefined ? undefined : findRepository(folder, roots);
    if (repository !== undefined) checkRepository(repository, roots);
    const found = await scan.current();
    const secrets = found.filter(({ kind }) => kind === "secret").map(({ path }) => path);
    options.withheldFiles?.see(secrets);
    const { kept, changed } =
      git === undefined ? { kept: new Set<string>(), changed: new Set() } : findTracked(secrets, roots);
    if (tier === "plain" && git !== undefined) {
      const untracked = secrets.length > kept.size + changed.size;
      if (gitShowsSecrets(words, { untracked, changed: changed.size > 0 })) throw refuseRecursive("git");
    }
    const nestedIn = (top: string): readonly string[] =>
      found.filter(({ kind, path }) => kind === "git" && insideRoots(path, [top])).map(({ path }) => path);
    const { settings: gitSettings, isSure } =
      repository === undefined || git?.mayRun === true
        ? { settings: [], isSure: true }
        : programsOff(repository, nestedIn(repository.top));
    // Another git, for a submodule, might run what we could not switch off: none is started.
    if (!isSure && tier === "plain") throw refuseUnsure();
    const startsOthers = git?.forks === true || (repository !== undefined && hasSubmodules(repository));
    const request = {
      cwd,
      writes,
      network,
      limits,
      noFork: git !== undefined && (!startsOthers || !isSure),
      git: git === undefined ? undefined : { repository, kept },
      guardsNames: tier !== "landlock",
    };
    const profile = buildProfile(request, around, found);
    // These make a repository, or find one of their own.
    const handed = MAKES_REPOSITORY.has(subcommandOf(words) ?? "") ? undefined : repository;
    if (!writes) return { profile, secrets, gitSettings, repository: handed };
    const isGit = git !== undefined;
    const inspect: SandboxProfile["inspect"] = (when) =>
      setNewFindingsAside({
        scan,
        before: found,
        roots,
        own: around.rules.privateDirs,
        ownWrites: options.ownWrites,
        isGit,
        isRunning: when === "running",
        isLong: when !== undefined,
      });
    return { profile: { ...profile, inspect }, secrets, gitSettings, repository: handed };
  };
};

export const createCommandGate = (options: GateOptions): CommandGate => {
  const access = createAccess(options);
  const profileOf = createProfiler(options);

  return {
    pass: async ({ command, cwd = ".", timeoutSeconds, maxOutputBytes, session }, signal, work) => {
      const settings = options.settings();
      if (!settings.enabled) throw refuseDisabled();
      const words = wordsOf(command);
      const explain = (thrown: unknown): never => {
        const isRefusal = thrown instanceof LlmcError && thrown.code === "forbidden";
        throw isRefusal ? withHint(thrown, options.programHint?.(posix.basename(words[0]))) : thrown;
      };
      return access(cwd, signal, async (located, around) => {
        if (!located.stats.isDirectory()) {
          throw new LlmcError("not_a_directory", "cwd is not a directory.", { details: { field: "cwd" } });
        }
        const { roots } = around.rules;
        const { executable, startPath, name } = await resolveProgram(words[0], {
          allowlist: settings.allowlist,
          dirs: SYSTEM_PATH,
          writableRoots: roots,
          ...(words[0] === "rg" ? { ripgrepPath: await findRipgrep() } : {}),
        }).catch(explain);
        const [, ...rest] = words;
        refuseSecrets(rest, located.realPath, around);
        const tier = await options.runner.tier();
        if (tier === "plain") refuseOutside(rest, located.realPath, around);
        const judged = judgeCommand({
          argv: [startPath, ...rest],
          executable,
          name,
          allowlist: settings.allowlist,
          powers: settings.powers,
          isInside: (path) => insideRoots(posix.resolve(located.realPath, path), roots),
        });
        if (!judged.allowed) return explain(commandDenied(judged));
        const timeoutMs = Math.min(timeoutSeconds ?? settings.timeoutSeconds, settings.timeoutSeconds) * 1000;
        const { profile, secrets, gitSettings, repository } = await profileOf(
          judged,
          rest,
          located.realPath,
          tier,
        );
        if (profile.withheld?.some((path) => insideRoots(located.realPath, [path]))) throw refuseClosed();
        const env = sessionEnv(session);
        const ceilings = roots.map((root) => posix.dirname(root));
        const argv = tier === "plain" ? withoutNames(name, judged.argv, secrets) : judged.argv;
        const request = {
          argv,
          cwd: located.realPath,
          timeoutMs,
          maxOutputBytes,
          env,
          git: judged.git === undefined ? undefined : { ceilings, settings: gitSettings, repository },
        };
        return work({ request, profile, words });
      });
    },
  };
};

export const createCommands = (gate: CommandGate, runner: CommandRunner): Commands => ({
  tier: runner.tier,
  run: (call, signal) =>
    gate.pass(call, signal, ({ request, profile }) => runner.run(request, profile, signal)),
});
