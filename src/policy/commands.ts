import { posix } from "node:path";
import { ALLOWED_PROGRAMS, LlmcError, PROMOTED_TOOLS } from "../base/error.ts";
import { quoteForMessage } from "../base/text.ts";
import { configures, findGitNeeds, gitProtocols, hardenGit, startsPrograms } from "./command-git.ts";
import { findNeeds, type IsInside, type Need, staysBelow } from "./command-powers.ts";
import { type Power, PROGRAMS, type ProgramRule } from "./command-table.ts";
import { nameBriefly } from "./program-names.ts";

/** A program started under another name is another program: these go by the name alone. */
const MULTI_CALL: ReadonlySet<string> = new Set(["busybox", "toybox", "coreutils"]);

export interface CommandFacts {
  /** The program as it will be started, and its arguments. */
  readonly argv: readonly [string, ...string[]];
  /** Real path of the program. */
  readonly executable: string;
  /** Base name of the entry of the allowlist that let it through. */
  readonly name: string;
  readonly allowlist: readonly string[];
  /** What the operator granted, as `program:power`. */
  readonly powers: readonly string[];
  /** Whether a path as written stays inside the roots. By default, relative paths that do not climb do. */
  readonly isInside?: IsInside;
}

export type CommandJudgement =
  | {
      readonly allowed: true;
      readonly argv: readonly [string, ...string[]];
      /** Whether it may change files at all; one that may not gets every folder read-only. */
      readonly writes: boolean;
      /** Whether it may be given any variable: it runs code anyway, or has no rule. */
      readonly takesVariables: boolean;
      /**
       * Whether it is git, and then whether it needs other programs, may run those that a repository names, and the only
       * protocols by which it may reach another repository.
       */
      readonly git:
        | { readonly forks: boolean; readonly mayRun: boolean; readonly protocols: string | undefined }
        | undefined;
    }
  | {
      readonly allowed: false;
      readonly reason: string;
      readonly hint: string;
      /** What would lift the refusal, as `llmc allow` takes it: PROGRAM or PROGRAM:POWER. */
      readonly needs?: readonly string[] | undefined;
    };

type Refusal = Extract<CommandJudgement, { readonly allowed: false }>;

const ALLOWLIST_KEY = "mcp.tools.run_cmd_allowlist";

export const isListed = (name: string, allowlist: readonly string[]): boolean =>
  allowlist.some((entry) => entry === name || (posix.isAbsolute(entry) && posix.basename(entry) === name));

/** For a mode that lists the tool, and for one that does not: of the two sentences, a caller gets one. */
const withTool = (does: string, tool: string): string =>
  `${does} with ${tool}. The operator can offer ${tool} for that: ${PROMOTED_TOOLS}.`;

/** What does the same as a program that people reach for, without it. One sentence for each tool. */
const INSTEAD: Readonly<Record<string, string>> = {
  sed: "Read lines of a file with read_file (offset, limit). Change text with linux_fs_edit.",
  awk: "Read lines of a file with read_file (offset, limit). Pick lines with grep or rg -o.",
  xargs: "Name the files in one command, or let rg search them.",
  curl: "Commands have no network unless the operator opens it.",
  wget: "Commands have no network unless the operator opens it.",
  tee: "Write with > file.",
  mkdir: `Writing a file with linux_fs_write makes the folders above it. ${withTool("Make empty ones", "linux_fs_mkdirs")}`,
  cp: withTool("Copy", "linux_fs_copy"),
  mv: withTool("Move", "linux_fs_move"),
  rm: withTool("Delete", "linux_fs_delete"),
  rmdir: withTool("Delete", "linux_fs_delete"),
  unlink: withTool("Delete", "linux_fs_delete"),
  touch: "Make a file with > file, or linux_fs_write.",
};

/** Without anything that a shell would read in it. */
const typedName = (program: string): string => (/^[\w.+/-]+$/.test(program) ? program : "PROGRAM");

/** What the operator types. */
const allowCommand = (program: string): string => `llmc allow ${typedName(program)} (${ALLOWLIST_KEY})`;

/** The one refusal of a program that is not on the list, whichever way it was to be run. */
export const notListed = (arg: string, allowlist: readonly string[], path = arg): Refusal => {
  const allowed =
    allowlist.length === 0
      ? `The operator allows no programs.`
      : `${ALLOWED_PROGRAMS} ${nameBriefly(allowlist)}.`;
  return {
    allowed: false,
    reason: `${quoteForMessage(arg)}${NOT_AMONG}`,
    hint: `${Object.hasOwn(INSTEAD, arg) ? `${INSTEAD[arg]} ` : ""}${allowed} If it is installed, the operator can allow it: ${allowCommand(path)}.`,
    needs: [path],
  };
};

const NOT_AMONG = " is not among the programs that may be run.";

/** Whether it is the refusal of a program that is not on the list. */
export const isNotListed = (thrown: unknown): thrown is LlmcError =>
  thrown instanceof LlmcError && thrown.message.endsWith(NOT_AMONG);

/** One refusal for all programs of a line: whoever lifts it should not meet the next one. */
export const joinNotListed = (first: LlmcError, others: readonly LlmcError[]): LlmcError => {
  const all = [first, ...others];
  const names = [...new Set(all.map(({ message }) => message.slice(0, -NOT_AMONG.length)))];
  if (names.length === 1) return first;
  const needs = [...new Set(all.flatMap((one) => one.needs ?? []))];
  const last = names.pop();
  return new LlmcError(
    "forbidden",
    `${names.join(", ")} and ${last} are not among the programs that may be run.`,
    {
      hint: (first.hint ?? "").replace(
        /llmc allow \S+ \(/,
        () => `llmc allow ${needs.map(typedName).join(" ")} (`,
      ),
      needs,
    },
  );
};

/** The refusal of a path whose name is listed, but stands for another file. */
export const notThisOne = (arg: string, listedPath: string | undefined, path: string): Refusal => {
  const name = posix.basename(arg);
  const instead =
    listedPath === undefined
      ? `Write ${name} alone`
      : `Allowed is ${listedPath}: write that, or ${name} alone`;
  return {
    allowed: false,
    reason: `${quoteForMessage(arg)} is not the ${name} that may be run.`,
    hint: `${instead}, or let the operator allow this one too: ${allowCommand(path)}.`,
    needs: [path],
  };
};

export const commandDenied = ({ reason, hint, needs }: Refusal): LlmcError =>
  new LlmcError("forbidden", reason, { hint, needs });

/** Rules know programs without the version in their names: python3.11, pip3. */
const findRule = (name: string): ProgramRule | undefined =>
  PROGRAMS.get(name) ?? PROGRAMS.get(name.replace(/[-.]?\d+(\.\d+)*$/, ""));

/**
 * Powers without which a listed program refuses what people mostly use it for: to be started at all, or the subcommands
 * that its rule does not name (`npm test`).
 */
export const usualPowers = (name: string): readonly Power[] => {
  const rule = findRule(name);
  return [...(rule?.always ?? []), ...(rule?.subcommands?.rest === undefined ? [] : [rule.subcommands.rest])];
};

/** Whether it starts other programs and runs code by its purpose, so that no power has to be granted for it. */
export const runsAnyCode = (name: string): boolean => findRule(name)?.runsCode === true;

/** Whether a program of this name is judged by its arguments. */
export const hasArgumentRules = (name: string): boolean => isGit(name) || findRule(name) !== undefined;

const isGit = (name: string): boolean => name === "git" || name.startsWith("git-");

const takesAnyVariable = (name: string): boolean => {
  const rule = findRule(name);
  return rule === undefined ? !isGit(name) : rule.runsCode === true;
};

/** For a variable that some program may obey: no list of harmless ones could be complete. */
export const refuseVariable = (name: string, variable: string): Refusal => ({
  allowed: false,
  reason: `${name} may not be given the variable ${variable}: a variable may make it run other programs.`,
  hint: `Leave it out, or let the operator grant it: llmc allow ${name}:run (mcp.tools.command_powers). Programs that run code anyway (node, python3, make) get variables.`,
  needs: [`${name}:run`],
});

const programNeeds = (name: string, args: readonly string[], isInside: IsInside): Need[] => {
  const rule = findRule(name);
  if (rule !== undefined) return findNeeds(args, rule, isInside);
  if (name === "git") return findGitNeeds(args, isInside);
  return isGit(name) ? findGitNeeds([name.slice("git-".length), ...args], isInside) : [];
};

/** For the operator who grants it: what a power means, without any word of ours. */
export const meaningOf = (name: string, power: Power): string => {
  const meanings: Record<Power, string> = {
    run: `${name} starts any program, also those that are not allowed, and runs any code`,
    write: `${name} may change and delete files in the roots`,
    read: `${name} takes names or settings from files that its caller chooses`,
    network: `${name} reaches the network, where it is open to commands`,
    config: `${name} obeys settings that its caller chooses, which can start any program`,
  };
  if (name === "git" && power === "write")
    return `${meanings.write}; hooks, content filters (LFS) and signing do not run: that takes git:run`;
  return meanings[power];
};

const EFFECTS: Record<Power, string> = {
  run: "runs other programs",
  write: "writes files",
  read: "reads names or settings from elsewhere",
  network: "reaches the network",
  config: "replaces configuration, which can run other programs",
};

const refuse = (name: string, missing: readonly Need[]): Refusal => {
  const [first] = missing;
  if (first === undefined) throw new Error("nothing is missing");
  const network = missing.some(({ power }) => power === "network")
    ? " and set mcp.tools.allow_outbound_network = true"
    : "";
  const wanted = [...new Set(missing.map((need) => `${name}:${need.power}`))];
  if (first.isUnknownCommand === true)
    return {
      allowed: false,
      reason: `${quoteForMessage(first.because)} is not a known command of ${name}: it may be an alias, which can run other programs.`,
      hint: `Write out what it stands for, or let the operator grant it: llmc allow ${wanted.join(" ")} (mcp.tools.command_powers).`,
      needs: wanted,
    };
  return {
    allowed: false,
    reason:
      first.because === ""
        ? `${name} is listed, but it ${EFFECTS[first.power]}, which was not granted.`
        : `${name} may not be given ${quoteForMessage(first.because)}: that ${EFFECTS[first.power]}.`,
    hint: `${first.because === "" ? "Use another program" : "Leave it out"}, or let the operator grant it: llmc allow ${wanted.join(" ")} (mcp.tools.command_powers)${network}.`,
    needs: wanted,
  };
};

const REFUSED_CONFIG: Refusal = {
  allowed: false,
  reason: "This git command changes the repository's configuration, which llmc never allows.",
  hint: "The user has to run it in a terminal.",
};

/** Adds leading arguments that keep settings of the repository or the user from starting programs. */
const hardenArgv = (
  [program, ...args]: readonly [string, ...string[]],
  names: ReadonlySet<string>,
  has: (power: Power) => boolean,
): readonly [string, ...string[]] =>
  names.has("git")
    ? [program, ...hardenGit(args, has)]
    : [program, ...[...names].flatMap((name) => findRule(name)?.front ?? []), ...args];

/**
 * Whether a listed program may be given these arguments. It narrows what the list opens and is not a boundary by
 * itself: a program without a rule passes, since the operator chose it, and the sandbox confines all of them.
 */
export const judgeCommand = (facts: CommandFacts): CommandJudgement => {
  const { argv, executable, name, allowlist, powers, isInside = staysBelow } = facts;
  if (!isListed(name, allowlist)) return notListed(name, allowlist);
  const args = argv.slice(1);
  const realName = posix.basename(executable);
  // A link with a harmless name may lead to a launcher.
  const names = new Set(MULTI_CALL.has(realName) ? [name] : [name, realName]);
  const has = (power: Power): boolean => [...names].some((each) => powers.includes(`${each}:${power}`));
  const needs = [...names].flatMap((each) => programNeeds(each, args, isInside));
  if (names.has("git") && configures(args)) return REFUSED_CONFIG;
  const missing = needs.filter((need) => !has(need.power));
  if (missing.length > 0) return refuse(name, missing);
  const isKnown = [...names].every((each) => isGit(each) || findRule(each) !== undefined);
  const isWriter = [...names].some((each) => findRule(each)?.writes === true);
  return {
    allowed: true,
    argv: hardenArgv(argv, names, has),
    writes: !isKnown || isWriter || needs.some(({ power }) => power !== "read" && power !== "network"),
    takesVariables: has("run") || [...names].every(takesAnyVariable),
    git: names.has("git")
      ? { forks: has("run") || startsPrograms(args), mayRun: has("run"), protocols: gitProtocols(has) }
      : undefined,
  };
};
