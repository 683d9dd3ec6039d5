import { posix } from "node:path";
import { ellipsize } from "../base/text.ts";
import {
  type FoundOption,
  listed,
  meansOneOf,
  type OptionShape,
  type ParsedArguments,
  parseArguments,
} from "./command-options.ts";
import { judgeAwkText, judgeSedText } from "./command-scripts.ts";
import type { Power, PowerOptions, ProgramRule } from "./command-table.ts";

/** A power that a call needs, and the argument that needs it. */
export interface Need {
  readonly power: Power;
  readonly because: string;
  /** The sub-command is not one that the rules know. */
  readonly isUnknownCommand?: true;
}

/** Whether a path as written stays where commands may work. */
export type IsInside = (path: string) => boolean;

/** If the roots are unknown: relative paths without `..`. */
export const staysBelow: IsInside = (path) => !posix.isAbsolute(path) && !path.split("/").includes("..");

const POWERS: readonly Power[] = ["run", "write", "read", "network", "config"];

/** A caller's argument, shortened for a message. */
export const brief = (arg: string): string => ellipsize(arg, 40);

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

/** Options that the rule does not know may do anything. */
const unknownNeeds = (options: readonly FoundOption[], rule: ProgramRule): Need[] => {
  if (rule.known === undefined) return [];
  const [flags = "", ...longFlags] = listed(rule.flags);
  const letters = new Set([...flags, ...(rule.values ?? "")].map((letter) => `-${letter}`));
  const names = new Set([...listed(rule.known), ...longFlags, ...listed(rule.longValues)]);
  const inPowers = Object.values(rule.powers ?? {}).flatMap(listed);
  return options
    .filter(({ name }) => !letters.has(name) && !names.has(name))
    .filter((option) => !meansOneOf(option, inPowers, []))
    .map(({ name }) => ({ power: "run", because: brief(name) }));
};

const expressionNeeds = (args: readonly string[], rule: ProgramRule): Need[] => {
  const options = args
    .filter((arg) => arg.startsWith("-"))
    .map((arg) => ({ name: arg.replace(/^-+/, "-"), value: undefined, isSure: true }));
  return optionNeeds(options, rule.powers, undefined);
};

const pathNeeds = (options: readonly FoundOption[], rule: ProgramRule, isInside: IsInside): Need[] =>
  optionNeeds(
    options.filter((option) => option.value !== undefined && !isInside(option.value)),
    rule.paths,
    rule.plain,
  );

const scriptNeeds = (
  { options, operands, leading, isCertain }: ParsedArguments,
  rule: ProgramRule,
): Need[] => {
  if (rule.script === undefined) return [];
  const judge = rule.script === "awk" ? judgeAwkText : judgeSedText;
  const isText = (option: FoundOption): boolean => meansOneOf(option, listed(rule.scriptOptions), []);
  const values = options.filter(isText).flatMap((option) => option.value ?? []);
  // Without such an option, the first operand is the program text. An unknown option may have taken it as a value.
  const isGiven = options.slice(0, leading).some((option) => isText(option) && option.value !== undefined);
  // An awk that does not know such an option ignores it, and what it would say is the first operand.
  const takesNoOperand = isGiven && rule.script !== "awk";
  const texts = isCertain ? operands.slice(0, takesNoOperand ? 0 : 1) : operands;
  return [...values, ...texts].flatMap((text) =>
    judge(text).map((power) => ({ power, because: brief(text) })),
  );
};

const ASKS = new Set(["-v", "-V", "--version", "-h", "--help"]);

const subcommandNeeds = (args: readonly string[], rule: ProgramRule): Need[] => {
  const { subcommands } = rule;
  if (subcommands === undefined || args.every((arg) => ASKS.has(arg))) return [];
  const [first = ""] = args;
  // An option in front may take the next argument as its value, so any argument may be the sub-command.
  const candidates = first.startsWith("-") ? args : [first];
  const needs = POWERS.flatMap((power) =>
    candidates
      .filter((arg) => listed(subcommands.needs?.[power]).includes(arg))
      .map((arg) => ({ power, because: brief(arg) })),
  );
  const isFree = subcommands.rest === undefined || listed(subcommands.free).includes(first);
  return isFree || subcommands.rest === undefined
    ? needs
    : [...needs, { power: subcommands.rest, because: brief(first) }];
};

const readsOnly = (
  args: readonly string[],
  rows: NonNullable<ProgramRule["readsWith"]>,
  shape: OptionShape,
): boolean => {
  const end = args.findIndex((arg) => !arg.startsWith("-") || arg === "--");
  const leading = parseArguments(end < 0 ? args : args.slice(0, end), shape).options;
  const all = parseArguments(args, shape).options;
  return rows.some(([oneOf, beside]) => {
    const names = listed(oneOf);
    const known = new Set([...names, ...listed(beside)]);
    return (
      leading.some((option) => option.isSure && names.includes(option.name)) &&
      all.every(({ name }) => known.has(name))
    );
  });
};

/** All powers that these arguments ask for, by the program's rule. */
export const findNeeds = (args: readonly string[], rule: ProgramRule, isInside: IsInside): Need[] => {
  const always = (rule.always ?? []).map((power) => ({ power, because: "" }));
  if (rule.isExpression) return [...always, ...expressionNeeds(args, rule)];
  const [first = ""] = args;
  const bundle = rule.isBundled && first !== "" && !first.startsWith("-") ? [`-${first}`] : [];
  const sorted = parseArguments([...bundle, ...args.slice(bundle.length)], rule);
  const { options, operands } = sorted;
  const byPattern = (rule.patterns ?? []).flatMap(([power, pattern]) =>
    args.filter((arg) => pattern.test(arg)).map((arg) => ({ power, because: brief(arg) })),
  );
  // Some implementations take no options after the first operand.
  const files = operands.length === 0 ? [] : args.slice(args.indexOf(operands[0] ?? ""));
  const tooMany: Need[] =
    rule.maxOperands !== undefined && files.length > rule.maxOperands
      ? [{ power: "write", because: brief(files[rule.maxOperands] ?? "") }]
      : [];
  const byDefault: Need[] =
    rule.readsWith === undefined || args.length === 0 || readsOnly(args, rule.readsWith, rule)
      ? []
      : [{ power: "write", because: "" }];
  return [
    ...always,
    ...optionNeeds(options, rule.powers, rule.plain),
    ...unknownNeeds(options, rule),
    ...pathNeeds(options, rule, isInside),
    ...byPattern,
    ...tooMany,
    ...byDefault,
    ...scriptNeeds(sorted, rule),
    ...subcommandNeeds(args, rule),
  ];
};
