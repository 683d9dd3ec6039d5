import { posix } from "node:path";
import { ellipsize } from "../base/text.ts";
import {
  type FoundOption,
  listed,
  meansOneOf,
  type OptionShape,
  type SortedWords,
  sortWords,
} from "./command-options.ts";
import { judgeAwkText, judgeSedText } from "./command-scripts.ts";
import type { Power, PowerOptions, ProgramRule } from "./command-table.ts";

/** A power that the arguments ask for, and the words that do. */
export interface Need {
  readonly power: Power;
  readonly because: string;
}

/** Whether a path as written stays where commands may work. */
export type IsInside = (path: string) => boolean;

/** Where nothing is known of the roots: relative paths that do not climb. */
export const staysBelow: IsInside = (path) => !posix.isAbsolute(path) && !path.split("/").includes("..");

const POWERS: readonly Power[] = ["run", "write", "read", "network", "config"];

/** A caller's word for a message: never long. */
export const brief = (word: string): string => ellipsize(word, 40);

/** The powers that options ask for by their names. */
export const optionNeeds = (
  options: readonly FoundOption[],
  powers: PowerOptions | undefined,
  plain: string | undefined,
): Need[] =>
  POWERS.filter((power) => powers?.[power] !== undefined).flatMap((power) =>
    options
      .filter((option) => meansOneOf(option, listed(powers?.[power]), listed(plain)))
      .map((option) => ({ power, because: brief(option.name) })),
  );

const expressionNeeds = (words: readonly string[], rule: ProgramRule): Need[] => {
  const options = words
    .filter((word) => word.startsWith("-"))
    .map((word) => ({ name: word.replace(/^-+/, "-"), value: undefined, isSure: true }));
  return optionNeeds(options, rule.powers, undefined);
};

const pathNeeds = (options: readonly FoundOption[], rule: ProgramRule, isInside: IsInside): Need[] =>
  optionNeeds(
    options.filter((option) => option.value !== undefined && !isInside(option.value)),
    rule.paths,
    rule.plain,
  );

const scriptNeeds = ({ options, operands, leading, isCertain }: SortedWords, rule: ProgramRule): Need[] => {
  if (rule.script === undefined) return [];
  const judge = rule.script === "awk" ? judgeAwkText : judgeSedText;
  const isText = (option: FoundOption): boolean => meansOneOf(option, listed(rule.scriptOptions), []);
  const values = options.filter(isText).flatMap((option) => option.value ?? []);
  // Without such an option before it, the first operand is the text; what an unknown option may have taken is unknown.
  const isGiven = options.slice(0, leading).some((option) => isText(option) && option.value !== undefined);
  const texts = isCertain ? operands.slice(0, isGiven ? 0 : 1) : operands;
  return [...values, ...texts].flatMap((text) => {
    const power = judge(text);
    return power === undefined ? [] : [{ power, because: `the text ${brief(text)}` }];
  });
};

const ASKS = new Set(["-v", "-V", "--version", "-h", "--help"]);

const subcommandNeeds = (words: readonly string[], rule: ProgramRule): Need[] => {
  const { subcommands } = rule;
  if (subcommands === undefined || words.every((word) => ASKS.has(word))) return [];
  const [first = ""] = words;
  // An option in front may swallow the next word, so that it is unknown which word is the sub-command.
  const candidates = first.startsWith("-") ? words : [first];
  const needs = POWERS.flatMap((power) =>
    candidates
      .filter((word) => listed(subcommands.needs?.[power]).includes(word))
      .map((word) => ({ power, because: brief(word) })),
  );
  const isFree = subcommands.rest === undefined || listed(subcommands.free).includes(first);
  return isFree || subcommands.rest === undefined
    ? needs
    : [...needs, { power: subcommands.rest, because: brief(first) }];
};

const readsOnly = (words: readonly string[], names: string, shape: OptionShape): boolean => {
  const end = words.findIndex((word) => !word.startsWith("-") || word === "--");
  const leading = sortWords(end < 0 ? words : words.slice(0, end), shape).options;
  return leading.some((option) => option.isSure && listed(names).includes(option.name));
};

/** All powers that these arguments ask for, by the program's rule. */
export const findNeeds = (words: readonly string[], rule: ProgramRule, isInside: IsInside): Need[] => {
  const always = (rule.always ?? []).map((power) => ({ power, because: "" }));
  if (rule.isExpression) return [...always, ...expressionNeeds(words, rule)];
  const [first = ""] = words;
  const bundle = rule.isBundled && first !== "" && !first.startsWith("-") ? [`-${first}`] : [];
  const sorted = sortWords([...bundle, ...words.slice(bundle.length)], rule);
  const { options, operands } = sorted;
  const said = (rule.words ?? []).flatMap(([power, pattern]) =>
    words.filter((word) => pattern.test(word)).map((word) => ({ power, because: brief(word) })),
  );
  // Some implementations take no options after the first operand.
  const files = operands.length === 0 ? [] : words.slice(words.indexOf(operands[0] ?? ""));
  const tooMany: Need[] =
    rule.maxOperands !== undefined && files.length > rule.maxOperands
      ? [{ power: "write", because: `the file ${brief(files[rule.maxOperands] ?? "")}` }]
      : [];
  const byDefault: Need[] =
    rule.readsWith === undefined || words.length === 0 || readsOnly(words, rule.readsWith, rule)
      ? []
      : [{ power: "write", because: "" }];
  return [
    ...always,
    ...optionNeeds(options, rule.powers, rule.plain),
    ...pathNeeds(options, rule, isInside),
    ...said,
    ...tooMany,
    ...byDefault,
    ...scriptNeeds(sorted, rule),
    ...subcommandNeeds(words, rule),
  ];
};
