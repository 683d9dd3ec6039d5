import { posix } from "node:path";
import { LlmcError, withHint } from "../../base/error.ts";
import { parseCommandLine } from "../../policy/command-line.ts";
import { commandDenied, judgeCommand } from "../../policy/commands.ts";
import { insideRoots } from "../../policy/paths.ts";
import { SYSTEM_PATH } from "../os/system-programs.ts";
import { createAccess } from "../reach/access.ts";
import type { CallerReach } from "../reach/reach.ts";
import { findRipgrep } from "../search/ripgrep.ts";
import { gitFolders, refuseOutside, refuseSecrets, withoutNames } from "./argument-paths.ts";
import type { CommandRunner } from "./contract.ts";
import { createProfiler } from "./profiler.ts";
import { resolveProgram } from "./resolve.ts";
import type { CommandRequest, SandboxProfile } from "./tiers/contract.ts";
import type { CommandLimits } from "./tree/limits.ts";

export interface CommandCall {
  /** A command line with quotes, or the program and its arguments, which are then taken as they are. */
  readonly command: string | readonly string[];
  /** As the caller wrote it; left out: the workspace. */
  readonly cwd: string | undefined;
  readonly timeoutSeconds: number | undefined;
  readonly maxOutputBytes: number;
  /** Passed to the command as `TE_AGENT_ID`, `TE_SESSION_ID` and `TE_MODEL`. */
  readonly session?: CommandSession | undefined;
}

export interface CommandSession {
  readonly agentId: string;
  readonly sessionId: string;
  readonly model: string;
}

/** A command that has passed the gate; nothing else is ever started. */
export interface JudgedCommand {
  readonly request: CommandRequest;
  readonly profile: SandboxProfile;
  /** As the caller wrote it, split into the program and its arguments. */
  readonly requestedArgv: readonly [string, ...string[]];
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

interface GateOptions {
  readonly reach: CallerReach;
  readonly runner: Pick<CommandRunner, "tier">;
  readonly settings: () => {
    readonly enabled: boolean;
    readonly allowlist: readonly string[];
    readonly powers: readonly string[];
    readonly network: boolean;
    /** Deadline of a call that names none, and the maximum that a call may ask for. */
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

const argvOf = (command: CommandCall["command"]): readonly [string, ...string[]] => {
  if (typeof command === "string") return parseCommandLine(command);
  const [program, ...rest] = command;
  if (program === undefined || program === "")
    throw new LlmcError("invalid_args", "The command has no program.", { details: { field: "args" } });
  if (command.some((argument) => argument.includes("\0")))
    throw new LlmcError("invalid_args", "The command has a NUL character.", { details: { field: "args" } });
  return [program, ...rest];
};

const sessionEnv = (session: CommandSession | undefined): Readonly<Record<string, string>> =>
  session === undefined
    ? {}
    : { TE_AGENT_ID: session.agentId, TE_SESSION_ID: session.sessionId, TE_MODEL: session.model };

export const createCommandGate = (options: GateOptions): CommandGate => {
  const access = createAccess(options.reach);
  const profileOf = createProfiler(options);

  return {
    pass: async ({ command, cwd = ".", timeoutSeconds, maxOutputBytes, session }, signal, work) => {
      const settings = options.settings();
      if (!settings.enabled) throw refuseDisabled();
      const requestedArgv = argvOf(command);
      const explain = (thrown: unknown): never => {
        const isRefusal = thrown instanceof LlmcError && thrown.code === "forbidden";
        throw isRefusal ? withHint(thrown, options.programHint?.(posix.basename(requestedArgv[0]))) : thrown;
      };
      return access(cwd, signal, async (located, reach) => {
        if (!located.stats.isDirectory()) {
          throw new LlmcError("not_a_directory", "cwd is not a directory.", { details: { field: "cwd" } });
        }
        const { roots } = reach.rules;
        const { executable, startPath, name } = await resolveProgram(requestedArgv[0], {
          allowlist: settings.allowlist,
          dirs: SYSTEM_PATH,
          writableRoots: roots,
          ...(requestedArgv[0] === "rg" ? { ripgrepPath: await findRipgrep() } : {}),
        }).catch(explain);
        const [, ...rest] = requestedArgv;
        refuseSecrets(
          rest,
          name === "git" ? gitFolders(rest, located.realPath, reach) : [located.realPath],
          reach,
        );
        const tier = await options.runner.tier();
        if (tier === "plain") refuseOutside(rest, located.realPath, reach);
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
        return work({ request, profile, requestedArgv });
      });
    },
  };
};
