import { posix } from "node:path";
import { LlmcError, withHint } from "../../base/error.ts";
import { nameWithin } from "../../base/paths.ts";
import { foldersMade, splitGit } from "../../policy/command-git.ts";
import { commandDenied, judgeCommand, refuseVariable } from "../../policy/commands.ts";
import { insideRoots } from "../../policy/paths.ts";
import { SYSTEM_PATH } from "../os/system-programs.ts";
import { createAccess } from "../reach/access.ts";
import { createLookupBudget, type LookupBudget } from "../reach/lookup-budget.ts";
import type { CallerReach } from "../reach/reach.ts";
import { endsInside, reachedPath } from "../reach/reached-path.ts";
import { findRipgrep } from "../search/ripgrep.ts";
import { foldersGitReadsFrom, refuseOutside, refuseSecrets } from "./argument-paths.ts";
import type { CommandCall, CommandRunner } from "./contract.ts";
import { type Allowed, locateRepository } from "./prepare-git.ts";
import { resolveProgram } from "./resolve.ts";
import type { Tier } from "./tiers/contract.ts";
import { checkVariables, isNoEditor } from "./tiers/environment.ts";

export interface ApprovalOptions {
  readonly reach: CallerReach;
  readonly runner: Pick<CommandRunner, "tier" | "runTogether">;
  readonly settings: () => {
    readonly enabled: boolean;
    readonly allowlist: readonly string[];
    readonly powers: readonly string[];
    /** Absolute folders that commands may read besides the roots. */
    readonly readPaths: readonly string[];
  };
  /** What the operator could still do about a refused program, in one sentence. */
  readonly programHint?: (program: string) => string | undefined;
}

const refuseDisabled = (): LlmcError =>
  new LlmcError("forbidden", "Running commands is switched off.", {
    hint: "The operator decides in mcp.tools.enable_run_cmd.",
  });

/** How a program writes, never what it does. */
const PLAIN_VARIABLE = /^(LANG|LC_\w+|TZ|COLUMNS|LINES|CI|NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE)$/;

/** A locale or a time zone by its name, never a file. */
const PLAIN_VALUE = /^(\w[\w@.+-]*(\/[\w+-]+)*)?$/;

/** The first variable that could direct a program; a program that ran without it would do something else than asked. */
const directingVariable = (env: Readonly<Record<string, string>>): string | undefined =>
  Object.entries(env).find(
    ([name, value]) => !isNoEditor(name, value) && !(PLAIN_VARIABLE.test(name) && PLAIN_VALUE.test(value)),
  )?.[0];

/** A command that its program and arguments allow, before the workspace was looked at for it. */
export interface Approved {
  readonly judged: Allowed;
  readonly name: string;
  readonly args: readonly string[];
  readonly startPath: string;
  /** Real path. */
  readonly cwd: string;
  /** Where the program may read its arguments from. */
  readonly folders: readonly string[];
  readonly tier: Tier;
  readonly roots: readonly string[];
  readonly lookups: LookupBudget;
}

/** The first half of the gate: the program, its arguments and variables, but not the content of the workspace. */
export const createApproval = (options: ApprovalOptions) => {
  const access = createAccess(options.reach);

  const find = async (program: string, roots: readonly string[], workingDirectory: string) =>
    resolveProgram(program, {
      allowlist: options.settings().allowlist,
      dirs: SYSTEM_PATH,
      writableRoots: roots,
      cwd: workingDirectory,
      ...(program === "rg" ? { ripgrepPath: await findRipgrep() } : {}),
    });

  /** Finds the program and judges its arguments; the working directory is held open while the work runs. */
  const approve = async <T>(
    {
      command: requestedArgv,
      cwd = ".",
      env = {},
      session,
      executable: trusted,
      lookups: given,
    }: CommandCall,
    signal: AbortSignal | undefined,
    work: (approved: Approved) => Promise<T>,
  ): Promise<T> => {
    const lookups = given ?? createLookupBudget(signal);
    const settings = options.settings();
    if (!settings.enabled) throw refuseDisabled();
    checkVariables(env);
    const explain = (thrown: unknown): never => {
      const isRefusal = thrown instanceof LlmcError && thrown.code === "forbidden";
      throw isRefusal ? withHint(thrown, options.programHint?.(posix.basename(requestedArgv[0]))) : thrown;
    };
    const { workspace } = options.reach.current().rules;
    return access(nameWithin(workspace, cwd), signal, async ({ stats, realPath }, reach) => {
      if (!stats.isDirectory()) {
        throw new LlmcError("not_a_directory", "cwd is not a directory.", { details: { field: "cwd" } });
      }
      const { roots } = reach.rules;
      const { executable, startPath, name } = await find(requestedArgv[0], roots, realPath).catch(explain);
      const [, ...args] = requestedArgv;
      const tier = await options.runner.tier();
      const folders = name === "git" ? foldersGitReadsFrom(args, realPath, reach, lookups) : [realPath];
      const [, gitFolder = realPath] = folders;
      const { readPaths } = settings;
      refuseSecrets(args, folders, reach, { tier, readPaths }, lookups);
      if (tier === "plain") {
        refuseOutside(args, realPath, reach, readPaths, lookups);
        // Where git goes first, by `-C`, it takes the arguments of its sub-command from there.
        if (name === "git") refuseOutside(splitGit(args).rest, gitFolder, reach, readPaths, lookups);
      }
      // A sandbox has no such folder, so that git would make it nowhere and say nothing.
      if (name === "git") refuseOutside(foldersMade(args), gitFolder, reach, readPaths, lookups);
      const judged = judgeCommand({
        argv: [startPath, ...args],
        executable,
        name,
        allowlist: settings.allowlist,
        powers: settings.powers,
        isInside: (path) =>
          endsInside(reachedPath(realPath, path, lookups), (one) => insideRoots(one, roots)),
      });
      if (!judged.allowed) {
        // Nobody is asked for a power that git could not use: a repository that is refused stays refused.
        if (name === "git" && judged.needs !== undefined)
          locateRepository({ args, cwd: realPath, reach, lookups });
        return explain(commandDenied(judged));
      }
      const directing = judged.takesVariables ? undefined : directingVariable(env);
      if (directing !== undefined) return explain(commandDenied(refuseVariable(name, directing)));
      session?.permit?.({ program: name, realName: posix.basename(executable), needs: undefined });
      const mayWrite = trusted === undefined || trusted.writes;
      return work({
        judged: { ...judged, writes: judged.writes && mayWrite },
        name,
        args,
        startPath,
        cwd: realPath,
        folders,
        tier,
        roots,
        lookups,
      });
    });
  };

  return { find, approve };
};
