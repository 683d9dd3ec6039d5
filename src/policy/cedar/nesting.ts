import { COMMENT_OR_STRING } from "./cedar-text.ts";

/*
 * Cedar's parser, validator and evaluator call themselves for each level of an expression, on the stack of one
 * WebAssembly instance: some 120 brackets within each other or 350 operators in a row overflow it, and an instance
 * that overflowed is of no use any more. So texts are measured before Cedar sees them.
 */
const MAX_DEPTH = 200;
const BRACKET_DEPTH = 4;

/** What Cedar's grammar repeats between operands, and what it repeats within one; brackets within one are calls and indexes. */
const BETWEEN = String.raw`&&|\|\||[+*/%-]|\b(?:if|when|unless)\b`;
const WITHIN = "[!.]";

const TOKEN = new RegExp(
  String.raw`(?<text>${COMMENT_OR_STRING.source})|(?<open>[([{])|(?<close>[)\]}])|(?<end>[,;])|(?<between>${BETWEEN})|${WITHIN}`,
  "gs",
);

/** What stands between two brackets, as deep as Cedar may take it to be. */
interface Level {
  /** Operators since the last separator, and the deepest operand beside them. */
  between: number;
  operand: number;
  /** The operand that is being read, and the deepest brackets in it. */
  within: number;
  inner: number;
  /** What is before the last separator. */
  before: number;
}

const newLevel = (before = 0): Level => ({ between: 0, operand: 0, within: 0, inner: 0, before });

const operandOf = ({ operand, within, inner }: Level): number => Math.max(operand, within + inner);

const depthOf = (level: Level): number => Math.max(level.before, level.between + operandOf(level));

export const TOO_DEEP = `this is nested too deeply: some ${MAX_DEPTH / (BRACKET_DEPTH + 1)} brackets within each other are possible, or ${MAX_DEPTH} operators in a row; split the policy, or name a set`;

/** Where a text becomes too deep for Cedar, in UTF-16 units; it is never taken to be less deep than it is. In one pass. */
export const findTooDeep = (text: string): number | undefined => {
  const outer: Level[] = [];
  let level = newLevel();
  const close = (): void => {
    const depth = depthOf(level) + BRACKET_DEPTH;
    level = outer.pop() ?? newLevel();
    level.inner = Math.max(level.inner, depth);
  };
  for (const { groups = {}, index } of text.matchAll(TOKEN)) {
    if (groups["text"] !== undefined) continue;
    if (groups["open"] !== undefined) {
      level.within++;
      outer.push(level);
      level = newLevel();
    } else if (groups["close"] !== undefined) close();
    else if (groups["end"] !== undefined) level = newLevel(depthOf(level));
    else if (groups["between"] !== undefined)
      level = { ...newLevel(level.before), between: level.between + 1, operand: operandOf(level) };
    else level.within++;
    if (outer.length * (BRACKET_DEPTH + 1) + depthOf(level) > MAX_DEPTH) return index;
  }
  // The outer ones of brackets that nothing closes have not been counted together with the inner ones.
  while (outer.length > 0) close();
  return depthOf(level) > MAX_DEPTH ? text.length : undefined;
};
