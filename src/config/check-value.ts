import type { Kind, Option } from "../base/option.ts";
import { nearest } from "../base/text.ts";
import { describeKind } from "./kind.ts";

/** Either the value, or what was expected and what came instead. `item` is the index in a list. */
export type Checked =
  | { readonly value: unknown }
  | { readonly complaint: string; readonly item?: number | undefined };

/** A bad value is named by its type only: it may be long, or a secret in the wrong place. */
export const typeName = (value: unknown): string => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (value instanceof Date) return "a date or time";
  switch (typeof value) {
    case "string":
      return "a string";
    case "boolean":
      return "a boolean";
    case "bigint":
      return "a whole number";
    case "number":
      return Number.isInteger(value) ? "a whole number" : "a decimal number";
    default:
      return "a table";
  }
};

const withoutBigint = (value: unknown): unknown =>
  typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;

const describeGot = (kind: Kind, value: unknown): { got: string; item?: number } => {
  if (kind.is === "list" && Array.isArray(value)) {
    const item = value.findIndex((inner) => typeof inner !== "string");
    if (item >= 0) return { got: `${typeName(value[item])} as item ${item + 1}`, item };
  }
  if (kind.is === "choice" && typeof value === "string") {
    const meant = nearest(value, kind.values);
    return {
      got: meant === undefined ? "another string" : `another string; did you mean ${JSON.stringify(meant)}?`,
    };
  }
  // A number out of bounds is short and no secret, and seeing it helps.
  const isNumber =
    typeof value === "bigint" ||
    Number.isInteger(value) ||
    (kind.is === "decimal" && typeof value === "number");
  if ((kind.is === "whole" || kind.is === "decimal") && isNumber) {
    const digits = String(value);
    return { got: digits.length > 20 ? "a far larger one" : digits };
  }
  return { got: typeName(value) };
};

const complain = (kind: Kind, got: string, item?: number): Checked => ({
  complaint: `expected ${describeKind(kind)}, got ${got}`,
  item,
});

const isOfKind = (kind: Kind, value: unknown): boolean => {
  switch (kind.is) {
    case "flag":
      return typeof value === "boolean";
    case "whole":
      return typeof value === "number" && Number.isInteger(value) && value >= kind.min && value <= kind.max;
    case "decimal":
      return typeof value === "number" && value >= kind.min && value <= kind.max;
    case "choice":
      return typeof value === "string" && kind.values.includes(value);
    case "text":
      return typeof value === "string";
    case "list":
      return Array.isArray(value) && value.every((item) => typeof item === "string");
  }
};

/** Roots and globs are compared with each other, and with every path: nobody writes as many by hand. */
const MAX_ITEMS = 500;
/** Of the globs in a list: each takes 10 KB once it is compiled. */
const MAX_ALTERNATIVES = 2048;

/** How many names the braces of a glob stand for, or more. */
const alternativesOf = (glob: string): number => {
  const open: number[] = [];
  let found = 1;
  for (const char of glob) {
    if (char === "{") open.push(1);
    else if (char === "," && open.length > 0) open.push((open.pop() ?? 0) + 1);
    else if (char === "}") found *= open.pop() ?? 1;
  }
  return found;
};

/** A file of a workspace that nobody trusts yet may add to lists. */
const tooLong = (items: readonly string[]): string | undefined => {
  if (items.length > MAX_ITEMS) return `expected at most ${MAX_ITEMS} items, got ${items.length}`;
  const alternatives = items.reduce((sum, item) => sum + alternativesOf(item), 0);
  return alternatives > MAX_ALTERNATIVES
    ? `expected globs with at most ${MAX_ALTERNATIVES} alternatives in braces, got more`
    : undefined;
};

/** Whole numbers may arrive as bigint, so that one past 64 bits is a problem like any other, not a parser's failure. */
export const checkValue = (option: Option, raw: unknown): Checked => {
  const { kind } = option;
  const value = withoutBigint(raw);
  if (!isOfKind(kind, value)) {
    const { got, item } = describeGot(kind, value);
    return complain(kind, got, item);
  }
  const complaint = kind.is === "list" ? tooLong(value as readonly string[]) : undefined;
  if (complaint !== undefined) return { complaint };
  if ((kind.is === "text" || kind.is === "list") && kind.shape !== undefined) {
    const { pattern, expected } = kind.shape;
    const item = [value].flat().findIndex((each) => !pattern.test(String(each)));
    if (item >= 0) return { complaint: expected, item: kind.is === "list" ? item : undefined };
  }
  return { value };
};

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["yes", true],
  ["on", true],
  ["false", false],
  ["0", false],
  ["no", false],
  ["off", false],
]);

const parseList = (option: Option, text: string): Checked => {
  if (!text.trimStart().startsWith("[")) {
    const items = text.split(",").map((item) => item.trim());
    return checkValue(
      option,
      items.filter((item) => item !== ""),
    );
  }
  try {
    return checkValue(option, JSON.parse(text));
  } catch {
    return complain(option.kind, "a broken JSON array; write a JSON array, or the items separated by commas");
  }
};

/** A value from the environment or the command line, where everything is text. */
export const parseText = (option: Option, text: string): Checked => {
  const kind = option.kind;
  switch (kind.is) {
    case "flag": {
      const value = FLAGS.get(text.trim().toLowerCase());
      return value === undefined ? complain(kind, "other text") : checkValue(option, value);
    }
    case "whole":
      // Through BigInt, as from a file: `Number` would round a number that is too large.
      return /^\s*[+-]?\d{1,30}\s*$/.test(text)
        ? checkValue(option, BigInt(text.trim().replace(/^\+/, "")))
        : complain(kind, "other text");
    case "decimal":
      return /^\s*[+-]?\d{1,20}(?:\.\d{1,20})?\s*$/.test(text)
        ? checkValue(option, Number(text))
        : complain(kind, "other text");
    case "list":
      return parseList(option, text);
    case "text":
    case "choice":
      return checkValue(option, text);
  }
};
