/**
 * What is known about the value of an expression from its text and the scopes of its file, in one short string:
 *
 *   store            a name that an import or another file defines
 *   #12              definition 12 of this file
 *   this, super      the enclosing class, its parent
 *   <Store>          an instance of that type (`<ns.Store>`, `<#12>`)
 *   {E}              a collection of E
 *   E.name  E()  E[] member, result of a call, element
 *   E^0              its first parameter
 *   ?                nothing is known
 *   !                something outside of the project: a string, a number
 */
export type Expression = string;

export const UNKNOWN = "?";
export const FOREIGN = "!";

/** Longer chains cost more than they contribute. */
const MAX_LENGTH = 160;

export const bounded = (expression: Expression): Expression =>
  expression.length > MAX_LENGTH ? UNKNOWN : expression;

export const instanceOf = (type: string): Expression => (type === "" ? UNKNOWN : bounded(`<${type}>`));

export const collectionOf = (element: Expression): Expression => bounded(`{${element || UNKNOWN}}`);

const closes: Readonly<Record<string, string>> = { "<": ">", "{": "}" };

/** End of the base of an expression: what comes before the first step. */
export const endOfBase = (expression: Expression): number => {
  const open = expression[0] ?? "";
  const close = closes[open];
  if (close === undefined) {
    const found = expression.search(/[.([^]/);
    return found < 0 ? expression.length : found;
  }
  let depth = 0;
  for (let at = 0; at < expression.length; at++) {
    if (expression[at] === open) depth++;
    else if (expression[at] === close && --depth === 0) return at + 1;
  }
  return expression.length;
};

/** `.name`, `()`, `[]` and `^0`, in order. */
export const stepsOf = (steps: string): readonly string[] => steps.match(/\.[^.([^]+|\(\)|\[\]|\^\d+/g) ?? [];

const last = (expression: Expression): string => stepsOf(expression).at(-1) ?? "";

/** A step from something unknown or outside of the project leads to the same. */
export const step = (expression: Expression, next: string): Expression => {
  if (expression === "" || expression.startsWith(UNKNOWN)) return UNKNOWN;
  if (expression.startsWith(FOREIGN)) return FOREIGN;
  // `a[][]…`: generated tables, of which nothing more is learned.
  if (next === "[]" && last(expression) === "[]" && expression.length > MAX_LENGTH / 2) return UNKNOWN;
  return bounded(expression + next);
};
