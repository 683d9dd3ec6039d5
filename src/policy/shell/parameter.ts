/** What `${NAME…}` does with the value of a variable. */
export type ParameterChange =
  /** `:-` and `-`: another value where there is none, or, with the colon, an empty one. */
  | { readonly kind: "default"; readonly text: string; readonly isForEmpty: boolean }
  /** `#`, `##`, `%` and `%%`: without what a pattern matches at its beginning or end. `after` is undefined without a `*`. */
  | {
      readonly kind: "strip";
      readonly end: "first" | "last";
      readonly isLongest: boolean;
      readonly before: string;
      readonly after: string | undefined;
    };

interface Parameter {
  readonly name: string;
  readonly change: ParameterChange;
  readonly length: number;
}

/** Only letters that mean themselves, also in a pattern and to a shell that splits words. */
const DEFAULT = /^\$\{([A-Za-z_]\w*)(:?)-([\w./:@%+=,-]*)\}/;
const STRIP = /^\$\{([A-Za-z_]\w*)(##?|%%?)([\w./:@+=,-]*)(?:(\*)([\w./:@+=,-]*))?\}/;

/** The forms of parameter expansion that need no shell; undefined for the others. */
export const readParameter = (rest: string): Parameter | undefined => {
  const [value, name = "", colon, text = ""] = DEFAULT.exec(rest) ?? [];
  if (value !== undefined)
    return { name, change: { kind: "default", text, isForEmpty: colon === ":" }, length: value.length };
  const [strip, stripped = "", operator = "", before = "", star, after = ""] = STRIP.exec(rest) ?? [];
  if (strip === undefined) return undefined;
  const change: ParameterChange = {
    kind: "strip",
    end: operator.startsWith("#") ? "first" : "last",
    isLongest: operator.length === 2,
    before,
    after: star === undefined ? undefined : after,
  };
  return { name: stripped, change, length: strip.length };
};

type Strip = Extract<ParameterChange, { readonly kind: "strip" }>;

/** How many letters at the beginning match. */
const matchedFirst = (value: string, { before, after, isLongest }: Strip): number => {
  if (!value.startsWith(before)) return 0;
  if (after === undefined) return before.length;
  const at = isLongest ? value.lastIndexOf(after) : value.indexOf(after, before.length);
  return at < before.length ? 0 : at + after.length;
};

/** Where what matches at the end begins. */
const matchedLast = (value: string, { before, after, isLongest }: Strip): number => {
  if (after === undefined) return value.endsWith(before) ? value.length - before.length : value.length;
  if (!value.endsWith(after)) return value.length;
  const last = value.length - after.length - before.length;
  if (last < 0) return value.length;
  const at = isLongest ? value.indexOf(before) : value.lastIndexOf(before, last);
  return at < 0 || at > last ? value.length : at;
};

/** Undefined where there is no value and the change brings none. */
export const changeValue = (
  value: string | undefined,
  change: ParameterChange | undefined,
): string | undefined => {
  if (change === undefined) return value;
  if (change.kind === "default")
    return value === undefined || (change.isForEmpty && value === "") ? change.text : value;
  if (value === undefined) return undefined;
  return change.end === "first"
    ? value.slice(matchedFirst(value, change))
    : value.slice(0, matchedLast(value, change));
};
