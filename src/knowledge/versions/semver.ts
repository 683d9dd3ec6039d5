import { LlmcError } from "../../base/error.ts";

declare const parsed: unique symbol;

/** A semantic version in its usual spelling. `parseVersion` alone makes one, so what has this type can be compared. */
export type VersionLabel = string & { readonly [parsed]: true };

/** A version as of semver.org 2.0; build metadata is kept in the label and not compared. */
interface Version {
  readonly numbers: readonly [number, number, number];
  readonly pre: readonly string[];
}

const NUMBER = "(?:0|[1-9]\\d{0,8})";
const VERSION = new RegExp(
  `^v?(${NUMBER})\\.(${NUMBER})\\.(${NUMBER})(?:-([0-9A-Za-z.-]{1,64}))?(?:\\+[0-9A-Za-z.-]{1,64})?$`,
);

const parse = (text: string): Version | undefined => {
  const found = VERSION.exec(text.trim());
  if (found === null) return undefined;
  const [, major, minor, patch, pre] = found;
  return { numbers: [Number(major), Number(minor), Number(patch)], pre: pre?.split(".") ?? [] };
};

export const isVersion = (text: string): boolean => parse(text) !== undefined;

const badVersion = (text: string): LlmcError =>
  new LlmcError("invalid_args", `${JSON.stringify(text.slice(0, 80))} is not a semantic version.`, {
    hint: "A version is MAJOR.MINOR.PATCH, such as 1.2.0 or 2.0.0-beta.1.",
  });

/** The version in its usual spelling, without a leading `v`. */
export const parseVersion = (text: string): VersionLabel => {
  if (!isVersion(text)) throw badVersion(text);
  return text.trim().replace(/^v/, "") as VersionLabel;
};

const comparePre = (a: readonly string[], b: readonly string[]): number => {
  // A release comes after everything that leads to it.
  if (a.length === 0 || b.length === 0) return b.length - a.length;
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const [left, right] = [a[at], b[at]];
    if (left === undefined || right === undefined) return left === undefined ? -1 : 1;
    if (left === right) continue;
    const [leftNumber, rightNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)];
    if (leftNumber && rightNumber) return Number(left) - Number(right);
    if (leftNumber !== rightNumber) return leftNumber ? -1 : 1;
    return left < right ? -1 : 1;
  }
  return 0;
};

const compare = (a: Version, b: Version): number => {
  for (const at of [0, 1, 2] as const) {
    const difference = a.numbers[at] - b.numbers[at];
    if (difference !== 0) return difference;
  }
  return comparePre(a.pre, b.pre);
};

const numbersOf = (label: VersionLabel): Version => {
  const version = parse(label);
  if (version === undefined) throw new Error("a version was not parsed");
  return version;
};

export const compareVersions = (a: VersionLabel, b: VersionLabel): number =>
  compare(numbersOf(a), numbersOf(b));

const noNext = (label: VersionLabel): LlmcError =>
  new LlmcError("invalid_args", `There is no minor version after ${label}.`, {
    hint: "Name one with --version.",
  });

/** The next minor version: what a new generation is called where nobody says. */
export const nextMinor = (label: VersionLabel | undefined): VersionLabel => {
  if (label === undefined) return parseVersion("1.0.0");
  const [major, minor] = numbersOf(label).numbers;
  const next = `${major}.${minor + 1}.0`;
  if (!isVersion(next)) throw noNext(label);
  return parseVersion(next);
};

interface Bound {
  readonly operator: ">=" | ">" | "<" | "<=" | "=";
  readonly version: Version;
  /** Its pre-release was not written in the range. */
  readonly isImplied?: true;
}

const PARTIAL = new RegExp(
  `^v?(?:(${NUMBER}|[xX*])(?:\\.(${NUMBER}|[xX*])(?:\\.(${NUMBER}|[xX*])(?:-([0-9A-Za-z.-]{1,64}))?)?)?)?$`,
);
const OPERATOR = /^(>=|<=|>|<|=|\^|~>?)?\s*(.*)$/;

const at = (major: number, minor: number, patch: number, pre: readonly string[] = []): Version => ({
  numbers: [major, minor, patch],
  pre,
});

const badRange = (range: string): LlmcError =>
  new LlmcError("invalid_args", `${JSON.stringify(range.slice(0, 80))} is not a range of versions.`, {
    hint: "Ranges are written like ^1.2.0, ~1.2, >=1.0.0 <2.0.0, 1.x or 1.0.0 - 1.9.9, with || between alternatives.",
  });

/** Exclusive upper bound that also excludes its own pre-releases, of which `-0` is the lowest. */
const below = (major: number, minor: number, patch: number): Bound => ({
  operator: "<",
  version: at(major, minor, patch, ["0"]),
  isImplied: true,
});

/** One comparator of a range as bounds: `^1.2` is at least 1.2.0 and below 2.0.0. */
const boundsOf = (comparator: string, range: string): readonly Bound[] => {
  const [, operator = "", rest = ""] = OPERATOR.exec(comparator) ?? [];
  const found = PARTIAL.exec(rest);
  if (found === null) throw badRange(range);
  const [, major, minor, patch, pre] = found;
  const isAny = (part: string | undefined): boolean => part === undefined || /[xX*]/.test(part);
  if (isAny(major)) return [];
  const [x, y, z] = [Number(major), isAny(minor) ? 0 : Number(minor), isAny(patch) ? 0 : Number(patch)];
  const low = at(x, y, z, pre?.split(".") ?? []);
  const from: Bound = { operator: ">=", version: low };
  const width = isAny(minor) ? below(x + 1, 0, 0) : isAny(patch) ? below(x, y + 1, 0) : undefined;
  switch (operator) {
    case "^":
      if (x > 0 || isAny(minor)) return [from, below(x + 1, 0, 0)];
      return y > 0 || isAny(patch) ? [from, below(0, y + 1, 0)] : [from, below(0, 0, z + 1)];
    case "~":
    case "~>":
      return [from, isAny(minor) ? below(x + 1, 0, 0) : below(x, y + 1, 0)];
    case ">":
      return [width === undefined ? { operator: ">", version: low } : { ...width, operator: ">=" }];
    case ">=":
      return [from];
    case "<":
      return [{ operator: "<", version: low }];
    case "<=":
      return [width ?? { operator: "<=", version: low }];
    default:
      return width === undefined ? [{ operator: "=", version: low }] : [from, width];
  }
};

const holds = ({ operator, version }: Bound, asked: Version): boolean => {
  const order = compare(asked, version);
  if (operator === "=") return order === 0;
  if (operator.startsWith(">")) return operator === ">" ? order > 0 : order >= 0;
  return operator === "<" ? order < 0 : order <= 0;
};

const MAX_RANGE_CHARS = 256;

/**
 * Reads a range as npm does. Of pre-releases, only those of a version that the range itself names with a pre-release
 * are in it.
 */
export const compileRange = (range: string): ((version: string) => boolean) => {
  if (range.length > MAX_RANGE_CHARS) throw badRange(range);
  const alternatives = range.split("||").map((part) => {
    const spaced = part
      .trim()
      .replace(/^(\S+)\s+-\s+(\S+)$/, ">=$1 <=$2")
      .replace(/(>=|<=|>|<|=|\^|~>?)\s+/g, "$1");
    return spaced
      .split(/\s+/)
      .filter((comparator) => comparator !== "")
      .flatMap((comparator) => boundsOf(comparator, range));
  });
  const namesPre = (bounds: readonly Bound[], { numbers }: Version): boolean =>
    bounds.some(
      ({ version, isImplied }) =>
        version.pre.length > 0 &&
        isImplied !== true &&
        version.numbers.every((number, position) => number === numbers[position]),
    );
  return (text) => {
    const version = parse(text);
    if (version === undefined) return false;
    return alternatives.some(
      (bounds) =>
        bounds.every((bound) => holds(bound, version)) &&
        (version.pre.length === 0 || namesPre(bounds, version)),
    );
  };
};
