import { posix } from "node:path";
import { LlmcError, withHint } from "../../base/error.ts";
import { foldersMade, splitGit } from "../../policy/command-git.ts";
import { commandDenied, judgeCommand, refuseVariable } from "../../policy/commands.ts";
import { insideRoots } from "../../policy/paths.ts";
import type { PermitProgram } from "../../policy/permit.ts";
import { SYSTEM_PATH } from "../os/system-programs.ts";
import { createAccess } from "../reach/access.ts";
import type { CallerReach } from "../reach/reach.ts";
import { findRipgrep } from "../search/ripgrep.ts";
import { foldersGitReadsFrom, refuseOutside, refuseSecrets, withoutNames } from "./argument-paths.ts";
import type { CommandRunner, JudgedCommand } from "./contract.ts";
import { createProfiler } from "./profiler.ts";
import { resolveProgram } from "./resolve.ts";
import { findCalledAs } from "./tiers/called-as.ts";
import { checkVariables, isNoEditor } from "./tiers/environment.ts";
import { toolChainEnvironment } from "./tiers/tool-chain.ts";
import type { CommandLimits } from "./tree/limits.ts";

export interface CommandCall {
  /** The program and its arguments, taken as they are. */
  readonly command: readonly [string, ...string[]];
  /** As the caller wrote it; by default, the workspace. */
  readonly cwd: string | undefined;
  readonly timeoutSeconds: number | undefined;
  /** Variables that the caller set. A program that is judged by its arguments is refused those that could direct it. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Passed to the command as `TE_AGENT_ID`, `TE_SESSION_ID` and `TE_MODEL`. */
  readonly session?: CommandSession | undefined;
}

export interface CommandSession {
  readonly agentId: string;
  readonly sessionId: string;
  readonly model: string;
  /** What policy and the user say to a program; left out, the configuration alone decides. */
  readonly permit?: PermitProgram | undefined;
}

/** The one gate for every way of running something. */
export interface CommandGate {
  /** The working directory is held open while the work runs. */
  pass<T>(
    call: CommandCall,
    signal: AbortSignal | undefined,
    work: (judged: JudgedCommand) => Promise<T>,
  ): Promise<T>;
  /** The file that an allowed program's name or path stands for; undefined for any other. */
  locate(program: string, cwd: string): Promise<string | undefined>;
}

export interface CommandTimeouts {
  /** Deadline of a call that names none. */
  readonly timeoutSeconds: number;
  /** The most that a call may ask for. */
  readonly maxTimeoutSeconds: number;
}

export interface GateOptions {
  readonly reach: CallerReach;
  readonly runner: Pick<CommandRunner, "tier">;
  readonly settings: () => CommandTimeouts & {
    readonly enabled: boolean;
    readonly allowlist: readonly string[];
    readonly powers: readonly string[];
    readonly network: boolean;
    readonly limits: CommandLimits;
    /** Absolute folders that commands may read besides the roots. */
    readonly readPaths: readonly string[];
  };
  /** What the operator could still do about a refused program, in one sentence. */
  readonly programHint?: (program: string) => string | undefined;
}

/** What a call asks for, within the operator's maximum. */
export const deadlineMs = (
  askedSeconds: number | undefined,
  { timeoutSeconds, maxTimeoutSeconds }: CommandTimeouts,
): number => Math.min(askedSeconds ?? timeoutSeconds, maxTimeoutSeconds) * 1000;

const refuseDisabled = (): LlmcError =>
  new LlmcError("forbidden", "Running commands is switched off.", {
    hint: "The operator decides in mcp.tools.enable_run_cmd.",
  });

const refuseClosed = (): LlmcError =>
  new LlmcError("forbidden", "cwd lies in a folder that is closed to commands.", {
    hint: "It holds very many files that are withheld by name: see mcp.tools.denylist_globs.",
    details: { field: "cwd" },
  });

const sessionEnv = (session: CommandSession | undefined): Readonly<Record<string, string>> =>
  session === undefined
    ? {}
    : { TE_AGENT_ID: session.agentId, TE_SESSION_ID: session.sessionId, TE_MODEL: session.model };

/** How a program writes, never what it does. */
const PLAIN_VARIABLE = /^(LANG|LC_\w+|TZ|COLUMNS|LINES|CI|NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE)$/;

/** A locale or a time zone by its name, never a file. */
const PLAIN_VALUE = /^(\w[\w@.+-]*(\/[\w+-]+)*)?$/;

/** The first variable that could direct a program; a program that ran without it would do something else than asked. */
const directingVariable = (env: Readonly<Record<string, string>>): string | undefined =>
  Object.entries(env).find(
    ([name, value]) => !isNoEditor(name, value) && !(PLAIN_VARIABLE.test(name) && PLAIN_VALUE.test(value)),
  )?.[0];

export const createCommandGate = (options: GateOptions): CommandGate => {
  const access = createAccess(options.reach);
  const profileOf = createProfiler(options);

  const find = async (program: string, roots: readonly string[], workingDirectory: string) =>
    resolveProgram(program, {
      allowlist: options.settings().allowlist,
      dirs: SYSTEM_PATH,
      writableRoots: roots,
      cwd: workingDirectory,
      ...(program === "rg" ? { ripgrepPath: await findRipgrep() } : {}),
    });

  return {
    locate: (program, cwd) =>
      find(program, options.reach.current().rules.roots, cwd).then(
        ({ startPath }) => startPath,
        () => undefined,
      ),
    pass: async ({ command: requestedArgv, cwd = ".", timeoutSeconds, env = {}, session }, signal, work) => {
      const settings = options.settings();
      if (!settings.enabled) throw refuseDisabled();
      checkVariables(env);
      const explain = (thrown: unknown): never => {
        const isRefusal = thrown instanceof LlmcError && thrown.code === "forbidden";
        throw isRefusal ? withHint(thrown, options.programHint?.(posix.basename(requestedArgv[0]))) : thrown;
      };
      return access(cwd, signal, async (located, reach) => {
        if (!located.stats.isDirectory()) {
          throw new LlmcError("not_a_directory", "cwd is not a directory.", { details: { field: "cwd" } });
        }
        const { roots } = reach.rules;
        const { executable, startPath, name } = await find(requestedArgv[0], roots, located.realPath).catch(
          explain,
        );
        const [, ...rest] = requestedArgv;
        const tier = await options.runner.tier();
        const folders =
          name === "git" ? foldersGitReadsFrom(rest, located.realPath, reach) : [located.realPath];
        refuseSecrets(rest, folders, reach, tier);
        if (tier === "plain") {
          refuseOutside(rest, located.realPath, reach, settings.readPaths);
          // Where git goes first, by `-C`, it takes the arguments of its sub-command from there.
          if (name === "git")
            refuseOutside(splitGit(rest).rest, folders[1] ?? located.realPath, reach, settings.readPaths);
        }
        // A sandbox has no such folder, so that git would make it nowhere and say nothing.
        if (name === "git")
          refuseOutside(foldersMade(rest), folders[1] ?? located.realPath, reach, settings.readPaths);
        const judged = judgeCommand({
          argv: [startPath, ...rest],
          executable,
          name,
          allowlist: settings.allowlist,
          powers: settings.powers,
          isInside: (path) => insideRoots(posix.resolve(located.realPath, path), roots),
        });
        if (!judged.allowed) return explain(commandDenied(judged));
        const directing = judged.takesVariables ? undefined : directingVariable(env);
        if (directing !== undefined) return explain(commandDenied(refuseVariable(name, directing)));
        const timeoutMs = deadlineMs(timeoutSeconds, settings);
        const prepared = await profileOf(judged, rest, located.realPath, tier);
        const { profile, secrets, gitSettings, repository, toolChains, afterRun } = prepared;
        if (profile.withheld?.some((path) => insideRoots(located.realPath, [path]))) throw refuseClosed();
        const ceilings = roots.map((root) => posix.dirname(root));
        const argv =
          tier === "plain"
            ? withoutNames(name, prepared.argv, [...secrets, ...profile.hidden])
            : prepared.argv;
        const toolChainEnv = toolChainEnvironment(startPath, toolChains);
        const request = {
          argv,
          calledAs: findCalledAs(requestedArgv[0], startPath, toolChainEnv["PATH"] ?? "", roots),
          cwd: located.realPath,
          timeoutMs,
          env: { ...env, ...sessionEnv(session) },
          toolChainEnv,
          git:
            judged.git === undefined
              ? undefined
              : { ceilings, settings: gitSettings, repository, protocols: judged.git.protocols },
        };
        return work({ request, profile, notes: prepared.notes, ...afterRun });
      });
    },
  };
};
