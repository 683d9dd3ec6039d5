import {
  GIT_COMMANDS,
  GIT_GLOBAL_POWERS,
  GIT_GLOBAL_VALUES,
  GIT_NO_NETWORK,
  GIT_NO_PROGRAMS,
  GIT_PLAIN_GLOBALS,
  GIT_RUNS,
  type GitRule,
} from "./command-git-table.ts";
import { listed, parseArguments } from "./command-options.ts";
import { brief, type IsInside, type Need, optionNeeds } from "./command-powers.ts";
import type { Power } from "./command-table.ts";
import { GIT_STRATEGIES } from "./git-settings.ts";

interface GitArguments {
  readonly globals: readonly string[];
  /** Undefined if there is no sub-command, as in `git --version`. */
  readonly subcommand: string | undefined;
  readonly rest: readonly string[];
}

export const splitGit = (args: readonly string[]): GitArguments => {
  let at = 0;
  while (args[at]?.startsWith("-")) at += GIT_GLOBAL_VALUES.has(args[at] ?? "") ? 2 : 1;
  return { globals: args.slice(0, at), subcommand: args[at], rest: args.slice(at + 1) };
};

const globalNeeds = (globals: readonly string[], isInside: IsInside): Need[] => {
  const needs: Need[] = [];
  for (let i = 0; i < globals.length; i++) {
    const arg = globals[i] ?? "";
    if (arg === "-C") {
      if (!isInside(globals[++i] ?? "")) needs.push({ power: "read", because: "-C" });
    } else if (!GIT_PLAIN_GLOBALS.has(arg)) {
      if (GIT_GLOBAL_VALUES.has(arg)) i++;
      const name = arg.replace(/=.*$/s, "");
      // An unknown option may take the sub-command as its value.
      needs.push({ power: GIT_GLOBAL_POWERS.get(name) ?? "config", because: brief(name) });
    }
  }
  return needs;
};

const READING_CONFIG = "--get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool --list -l";
const WRITING_CONFIG =
  "--add --replace-all --unset --unset-all --rename-section --remove-section -e --edit --comment";

/** Settings are read by an option, by `get` or `list`, or by one name alone; whatever comes after a name is its value. */
const configNeeds = (rest: readonly string[]): Need[] => {
  const { options, operands, leading } = parseArguments(rest, {
    flags:
      "lz --global --system --local --worktree --show-origin --show-scope --name-only --null --includes --bool --int",
    values: "f",
    longValues: "--file --blob --type --default",
  });
  const needs = optionNeeds(options, { config: WRITING_CONFIG, read: "-f --file --blob" }, undefined);
  const reads = options
    .slice(0, leading)
    .some((option) => option.isSure && listed(READING_CONFIG).includes(option.name));
  const isMode = rest[0] === "get" || rest[0] === "list";
  const isName = operands.length === 1 && operands[0] === rest.at(-1) && operands[0]?.includes(".") === true;
  return reads || isMode || isName ? needs : [...needs, { power: "config", because: "config" }];
};

const STRATEGY = "--strategy";

/** Git starts `git-merge-NAME` for a strategy that is not its own, also from the work tree if NAME has a slash. */
const strategyNeeds = (rest: readonly string[], { strategies }: GitRule): Need[] => {
  if (strategies === undefined) return [];
  const values = rest.flatMap((arg, at) => {
    const next = rest[at + 1] ?? "";
    if (arg.startsWith("--")) {
      const [name = "", ...written] = arg.split("=");
      // The beginning of the name counts as the name.
      return name !== "--" && STRATEGY.startsWith(name)
        ? [written.length === 0 ? next : written.join("=")]
        : [];
    }
    const [, letter = "", others = ""] = /^-(.)(.*)$/s.exec(arg) ?? [];
    if (!strategies.short || letter === "" || strategies.values.includes(letter)) return [];
    const bundle = `${letter}${others}`;
    const from = bundle.indexOf("s");
    return from < 0 ? [] : [bundle.slice(from + 1) || next];
  });
  return values
    .filter((value) => !GIT_STRATEGIES.has(value))
    .map((value) => ({ power: "run" as const, because: brief(`${STRATEGY}=${value}`) }));
};

const ruleNeeds = (subcommand: string, rest: readonly string[], rule: GitRule): Need[] => {
  const { options, operands } = parseArguments(rest, rule);
  const needs: Need[] = (rule.always ?? []).map((power) => ({ power, because: subcommand }));
  needs.push(...optionNeeds(options, rule.powers, rule.plain));
  needs.push(...strategyNeeds(rest, rule));
  if (options.some((option) => option.name === "--help")) needs.push({ power: "run", because: "--help" });
  const write = (because: string) => needs.push({ power: "write", because: brief(because) });
  if (rule.modes !== undefined) {
    const isBare = rest.every((arg) => arg.startsWith("-"));
    if (!rule.modes.includes(isBare ? "" : (rest[0] ?? ""))) write(`${subcommand} ${rest[0] ?? ""}`.trim());
  }
  const turned = rest.find((arg) => listed(rule.never).includes(arg));
  if (turned !== undefined) write(`${subcommand} ${turned}`);
  const isListing = options.some((option) => option.isSure && listed(rule.listsWith).includes(option.name));
  if (rule.listsWith !== undefined && operands.length > 0 && !isListing)
    write(`${subcommand} ${operands[0]}`);
  if (rule.maxOperands !== undefined && operands.length > rule.maxOperands) write(subcommand);
  return needs;
};

const UNKNOWN = { isUnknownCommand: true } as const;

/** All powers that a git command line asks for. */
export const findGitNeeds = (args: readonly string[], isInside: IsInside): Need[] => {
  const { globals, subcommand, rest } = splitGit(args);
  const needs = globalNeeds(globals, isInside);
  if (subcommand === undefined) return globals.includes("--help") && args.length === 1 ? [] : needs;
  if (subcommand === "config") return [...needs, ...configNeeds(rest)];
  const rule = GIT_COMMANDS.get(subcommand);
  // `git remote show` and `update` ask the other side.
  if (subcommand === "remote" && rest.some((arg) => ["show", "update", "prune"].includes(arg))) {
    needs.push({ power: "network", because: "remote" });
  }
  return rule === undefined
    ? [...needs, { power: "run", because: brief(subcommand), ...(GIT_RUNS.has(subcommand) ? {} : UNKNOWN) }]
    : [...needs, ...ruleNeeds(subcommand, rest, rule)];
};

export const subcommandOf = (args: readonly string[]): string | undefined => splitGit(args).subcommand;

/** Arguments of sub-commands that only change the repository's configuration (REQ-D24). */
const CONFIGURES: ReadonlyMap<string, RegExp> = new Map([
  ["remote", /^(add|rename|remove|rm|set-head|set-branches|set-url)$/],
  ["branch", /^(-m|-M|--move|-c|-C|--copy|-u|--set-upstream-to(=.*)?|--unset-upstream|--edit-description)$/],
]);

/** Whether git would change its own configuration, which no caller may do, whatever was granted. */
export const configures = (args: readonly string[]): boolean => {
  const { subcommand = "", rest } = splitGit(args);
  if (subcommand === "config") return configNeeds(rest).some(({ power }) => power === "config");
  const pattern = CONFIGURES.get(subcommand);
  return pattern !== undefined && rest.some((arg) => pattern.test(arg));
};

/** Whether a known sub-command starts other git programs; an unknown one runs only where git may start any. */
export const startsPrograms = (args: readonly string[]): boolean => {
  const { subcommand } = splitGit(args);
  return subcommand !== undefined && GIT_COMMANDS.get(subcommand)?.forks !== undefined;
};

/** Whether all that it writes to the work tree is content that git tracks, start-up files included. */
export const writesTrackedContent = (args: readonly string[]): boolean =>
  GIT_COMMANDS.get(subcommandOf(args) ?? "")?.writesTracked === true;

/** Whether it may change or remove files of the work tree. */
export const mayChangeWorkTree = (args: readonly string[]): boolean =>
  GIT_COMMANDS.get(subcommandOf(args) ?? "")?.keepsWorkTree !== true;

/** Whether an argument may name what it writes. */
export const writesNamedPaths = (args: readonly string[]): boolean =>
  !writesTrackedContent(args) || GIT_COMMANDS.get(subcommandOf(args) ?? "")?.makesFolder === true;

/** The folder that a work tree or a repository is to be made in, as written, with what else may be a path. */
export const foldersMade = (args: readonly string[]): readonly string[] => {
  const { subcommand, rest } = splitGit(args);
  const makes = subcommand === "init" || (subcommand === "worktree" && /^(add|move)$/.test(rest[0] ?? ""));
  return makes ? rest : [];
};

/** They take any reference by its name, also `worktrees/NAME/HEAD`, or the reflogs of all work trees. */
const NAMES_ANY_REFERENCE: ReadonlySet<string> = new Set(
  "update-ref symbolic-ref reflog fast-import".split(" "),
);

/** Whether a sub-command, if it writes, may change what belongs to work trees other than the one that it runs in. */
export const changesWorkTrees = (args: readonly string[]): boolean => {
  const { subcommand = "", rest } = splitGit(args);
  return subcommand === "worktree" ? rest[0] !== "add" : NAMES_ANY_REFERENCE.has(subcommand);
};

/** For GIT_ALLOW_PROTOCOL, which wins over every setting; undefined where git may run any program anyway. */
export const gitProtocols = (has: (power: Power) => boolean): string | undefined =>
  has("run") ? undefined : has("network") ? "git:http:https:ssh" : "";

/** The folders that `-C` leads to, one after the other, as git follows them. */
export const changedFolders = (args: readonly string[]): readonly string[] => {
  const { globals } = splitGit(args);
  return globals.flatMap((arg, at) => (arg === "-C" ? [globals[at + 1] ?? "."] : []));
};

const asSettings = (settings: readonly string[]): string[] => settings.flatMap((setting) => ["-c", setting]);

/** Overrides in front, so that programs named by a repository's own settings do not start; the caller's come after. */
export const hardenGit = (args: readonly string[], has: (power: Power) => boolean): readonly string[] => {
  const { globals, subcommand, rest } = splitGit(args);
  if (subcommand === undefined) return args;
  const rule = GIT_COMMANDS.get(subcommand);
  const front = ["--no-pager"];
  if (rule !== undefined && rule.always === undefined) front.push("--no-optional-locks");
  if (!has("run")) front.push(...asSettings(GIT_NO_PROGRAMS));
  if (!has("network")) front.push(...asSettings(GIT_NO_NETWORK));
  else if (!has("run")) front.push(...asSettings(["core.sshCommand=ssh"]));
  // A directory that looks like a repository, written file by file, would bring its own settings.
  if (!has("config")) front.push(...asSettings(["safe.bareRepository=explicit"]));
  const [mode = ""] = rest;
  const isOther =
    rule?.modes?.includes(mode) === false || rest.some((arg) => listed(rule?.never).includes(arg));
  const plain = rule?.isDiff && !isOther && !has("run") ? ["--no-ext-diff", "--no-textconv"] : [];
  const modeAt = rule?.modes === undefined ? 0 : 1;
  return [...front, ...globals, subcommand, ...rest.slice(0, modeAt), ...plain, ...rest.slice(modeAt)];
};
