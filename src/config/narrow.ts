import { isAbsolute, normalize, resolve, sep } from "node:path";
import type { Option } from "../base/option.ts";
import { isBelowOneOf, isInside } from "../base/paths.ts";

/** Resolves the paths of a key, wherever they are written: in the file, in a grant, or in the defaults. */
export interface PathContext {
  readonly workspace: string;
  /** The real path of a written one, or the one it will have once it is made. */
  readonly realOf: (written: string) => string;
}

export interface Decision {
  readonly inForce: unknown;
  /** Entries of a list, or the value, that need the operator's trust; omitted if there are none. */
  readonly waits?: unknown;
  /** The same as a trust record keeps it. */
  readonly grant?: unknown;
}

export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

const textsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

const wait = (inForce: unknown, waits: unknown): Decision => ({ inForce, waits, grant: waits });

/** Numbers and ordered choices: limited to the wider of the current value without the file and the granted value. */
const decideRank = (
  rankOf: (value: unknown) => number,
  base: unknown,
  asked: unknown,
  granted: unknown,
): Decision => {
  const limit = rankOf(granted) > rankOf(base) ? granted : base;
  return rankOf(asked) <= rankOf(limit) ? { inForce: asked } : wait(limit, asked);
};

const decideItems = (asked: readonly string[], isAllowed: (item: string) => boolean): Decision => {
  const waits = asked.filter((item) => !isAllowed(item));
  return waits.length === 0 ? { inForce: asked } : wait(asked.filter(isAllowed), waits);
};

/** Whether a path leaves the workspace by its text. Whoever opens it judges where it really leads. */
const leavesWorkspace = (item: string, workspace: string): boolean =>
  isAbsolute(item) ? !isInside(normalize(item), workspace) : normalize(item).split(sep).includes("..");

/**
 * The result is what both allow. Roots are compared by real path, and a link is replaced by its current target, because
 * it can be redirected later. One inside another is left out for the same reason: whoever may write there could swap it
 * for a link.
 */
const decideRoots = (
  base: readonly string[],
  asked: readonly string[],
  granted: readonly string[],
  { workspace, realOf }: PathContext,
): Decision => {
  const isWithin = (path: string, folders: ReadonlySet<string>): boolean =>
    folders.has(path) || isBelowOneOf(path, folders);
  const allowed = new Set([...base.map(realOf), ...granted]);
  const isAllowed = (item: string): boolean => isWithin(realOf(item), allowed);
  const waits = asked.filter((item) => !isAllowed(item));
  const wider = new Set(waits.map(realOf));
  const both = new Set([...asked.filter(isAllowed), ...base.filter((item) => isWithin(realOf(item), wider))]);
  const reals = new Set([...both].map(realOf));
  const inForce = [...both]
    .filter((item) => !isBelowOneOf(realOf(item), reals))
    .map((item) => (realOf(item) === resolve(workspace, item) ? item : realOf(item)));
  return waits.length === 0 ? { inForce } : { inForce, waits, grant: waits.map(realOf) };
};

const decideRemovals = (
  base: readonly string[],
  asked: readonly string[],
  granted: readonly string[],
): Decision => {
  const missing = base.filter((item) => !asked.includes(item) && !granted.includes(item));
  return missing.length === 0 ? { inForce: asked } : wait([...asked, ...missing], missing);
};

/** An empty list restricts nothing, so what remains of a narrowed one must not be empty. */
const decideFilter = (base: readonly string[], asked: readonly string[], granted: unknown): Decision => {
  if (base.length === 0 || isSame(asked, granted)) return { inForce: asked };
  const kept = asked.filter((item) => base.includes(item));
  if (asked.length > 0 && kept.length === asked.length) return { inForce: asked };
  return wait(kept.length === 0 ? base : kept, asked);
};

/**
 * The effective part of a workspace's value: narrowing applies at once, widening only as far as it was granted
 * (REQ-D22).
 */
export const decide = (
  { widens, unlimited, covers = Object.is }: Option,
  base: unknown,
  asked: unknown,
  granted: unknown,
  paths: PathContext,
): Decision => {
  const rankOfNumber = (value: unknown): number => {
    if (typeof value !== "number") return Number.NaN;
    return value === unlimited ? Number.POSITIVE_INFINITY : value;
  };
  if (typeof widens === "boolean")
    return asked !== widens || base === widens || granted === widens ? { inForce: asked } : wait(base, asked);
  switch (widens) {
    case "never":
      return { inForce: asked };
    case "any":
      return isSame(asked, base) || isSame(asked, granted) ? { inForce: asked } : wait(base, asked);
    case "more":
      return decideRank(rankOfNumber, base, asked, granted);
    case "less":
      return decideRank((value) => -rankOfNumber(value), base, asked, granted);
    case "additions":
      return decideItems(textsOf(asked), (item) =>
        [...textsOf(base), ...textsOf(granted)].some((allowed) => covers(allowed, item)),
      );
    case "outside":
      return decideItems(
        textsOf(asked),
        (item) =>
          [...textsOf(base), ...textsOf(granted)].includes(item) || !leavesWorkspace(item, paths.workspace),
      );
    case "removals":
      return decideRemovals(textsOf(base), textsOf(asked), textsOf(granted));
    case "roots":
      return decideRoots(textsOf(base), textsOf(asked), textsOf(granted), paths);
    case "filter":
      return decideFilter(textsOf(base), textsOf(asked), granted);
    default:
      return decideRank((value) => widens.indexOf(String(value)), base, asked, granted);
  }
};
