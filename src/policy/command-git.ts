import {
  GIT_COMMANDS,
  GIT_GLOBAL_POWERS,
  GIT_GLOBAL_VALUES,
  GIT_NO_NETWORK,
  GIT_NO_PROGRAMS,
  GIT_PLAIN_GLOBALS,
  type GitRule,
} from "./command-git-table.ts";
import { listed, sortWords } from "./command-options.ts";
import { brief, type IsInside, type Need, optionNeeds } from "./command-powers.ts";
import type { Power } from "./command-table.ts";

interface GitWords {
  readonly globals: readonly string[];
  /** Undefined where there is none, as in `git --version`. */
  readonly subcommand: string | undefined;
  readonly rest: readonly string[];
}

const splitGit = (words: readonly string[]): GitWords => {
  let at = 0;
  while (words[at]?.startsWith("-")) at += GIT_GLOBAL_VALUES.has(words[at] ?? "") ? 2 : 1;
  return { globals: words.slice(0, at), subcommand: words[at], rest: words.slice(at + 1) };
};

const globalNeeds = (globals: readonly string[], isInside: IsInside): Need[] => {
  const needs: Need[] = [];
  for (let i = 0; i < globals.length; i++) {
    const word = globals[i] ?? "";
    if (word === "-C") {
      if (!isInside(globals[++i] ?? "")) needs.push({ power: "read", because: "-C" });
    } else if (!GIT_PLAIN_GLOBALS.has(word)) {
      if (GIT_GLOBAL_VALUES.has(word)) i++;
      const name = word.replace(/=.*$/s, "");
      // An option that is not known may swallow the sub-command.
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
  const { options, operands, leading } = sortWords(rest, {
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

const ruleNeeds = (subcommand: string, rest: readonly string[], rule: GitRule): Need[] => {
  const { options, operands } = sortWords(rest, rule);
  const needs: Need[] = (rule.always ?? []).map((power) => ({ power, because: subcommand }));
  needs.push(...optionNeeds(options, rule.powers, rule.plain));
  if (options.some((option) => option.name === "--help")) needs.push({ power: "run", because: "--help" });
  const write = (because: string) => needs.push({ power: "write", because: brief(because) });
  if (rule.modes !== undefined) {
    const isBare = rest.every((word) => word.startsWith("-"));
    if (!rule.modes.includes(isBare ? "" : (rest[0] ?? ""))) write(`${subcommand} ${rest[0] ?? ""}`.trim());
  }
  const turned = rest.find((word) => listed(rule.never).includes(word));
  if (turned !== undefined) write(`${subcommand} ${turned}`);
  const isListing = options.some((option) => option.isSure && listed(rule.listsWith).includes(option.name));
  if (rule.listsWith !== undefined && operands.length > 0 && !isListing)
    write(`${subcommand} ${operands[0]}`);
  if (rule.maxOperands !== undefined && operands.length > rule.maxOperands) write(subcommand);
  return needs;
};

/** All powers that a git command line asks for. */
export const findGitNeeds = (words: readonly string[], isInside: IsInside): Need[] => {
  const { globals, subcommand, rest } = splitGit(words);
  const needs = globalNeeds(globals, isInside);
  if (subcommand === undefined) return globals.includes("--help") && words.length === 1 ? [] : needs;
  if (subcommand === "config") return [...needs, ...configNeeds(rest)];
  const rule = GIT_COMMANDS.get(subcommand);
  // `git remote show` and `update` ask the other side.
  if (subcommand === "remote" && rest.some((word) => ["show", "update", "prune"].includes(word))) {
    needs.push({ power: "network", because: "remote" });
  }
  return rule === undefined
    ? [...needs, { power: "run", because: brief(subcommand) }]
    : [...needs, ...ruleNeeds(subcommand, rest, rule)];
};

export const subcommandOf = (words: readonly string[]): string | undefined => splitGit(words).subcommand;

/** Words of sub-commands that do nothing but change the repository's configuration (REQ-D24). */
const CONFIGURES: ReadonlyMap<string, RegExp> = new Map([
  ["remote", /^(add|rename|remove|rm|set-head|set-branches|set-url)$/],
  ["branch", /^(-m|-M|--move|-c|-C|--copy|-u|--set-upstream-to(=.*)?|--unset-upstream|--edit-description)$/],
]);

/** Whether git would change what it obeys itself, which nobody does through us, whatever was granted. */
export const configures = (words: readonly string[]): boolean => {
  const { subcommand = "", rest } = splitGit(words);
  if (subcommand === "config") return configNeeds(rest).some(({ power }) => power === "config");
  const pattern = CONFIGURES.get(subcommand);
  return pattern !== undefined && rest.some((word) => pattern.test(word));
};

/** Whether a sub-command needs other programs of git; one that is unknown may be anything. */
export const startsPrograms = (words: readonly string[]): boolean => {
  const { subcommand } = splitGit(words);
  return subcommand !== undefined && GIT_COMMANDS.get(subcommand)?.forks !== undefined;
};

/** The folders that `-C` leads to, one after the other, as git follows them. */
export const changedFolders = (words: readonly string[]): readonly string[] => {
  const { globals } = splitGit(words);
  return globals.flatMap((word, at) => (word === "-C" ? [globals[at + 1] ?? "."] : []));
};

const asSettings = (settings: readonly string[]): string[] => settings.flatMap((setting) => ["-c", setting]);

/** Overrides in front, so that programs named by a repository's own settings do not start; the caller's come after. */
export const hardenGit = (words: readonly string[], has: (power: Power) => boolean): readonly string[] => {
  const { globals, subcommand, rest } = splitGit(words);
  if (subcommand === undefined) return words;
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
    rule?.modes?.includes(mode) === false || rest.some((word) => listed(rule?.never).includes(word));
  const plain = rule?.isDiff && !isOther && !has("run") ? ["--no-ext-diff", "--no-textconv"] : [];
  const modeAt = rule?.modes === undefined ? 0 : 1;
  return [...front, ...globals, subcommand, ...rest.slice(0, modeAt), ...plain, ...rest.slice(modeAt)];
};
