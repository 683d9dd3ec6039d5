import type { ShellCommand, ShellWord } from "./shell-line.ts";
import type { RedirectionToken, WordToken } from "./shell-tokens.ts";

const UNARY = /^-[efdsrxnz]$/;
const COMPARISON = /^(?:==?|!=)$/;

/** Nothing in double brackets is split or matches names. */
const quoted = ({ word }: WordToken): ShellWord => word.map((part) => ({ ...part, isQuoted: true }));

const literal = (text: string): ShellWord => [{ kind: "text", text, isQuoted: true }];

/** A `~` would be the home, and `[[` has operators that `[` does not. */
const isPlain = ({ raw }: WordToken): boolean => !/^(?:~|[-!(]|==?$)/.test(raw);

/** The right side of a comparison is a pattern, unless nothing in it is special. */
const isText = ({ word }: WordToken): boolean =>
  word.every((part) => part.isQuoted || (part.kind === "text" && !/[*?[\\]/.test(part.text)));

const conditionOf = (operands: readonly WordToken[]): readonly ShellWord[] | undefined => {
  const [first, second, third, ...more] = operands;
  if (first === undefined || more.length > 0) return undefined;
  if (second === undefined) return isPlain(first) ? [literal("-n"), quoted(first)] : undefined;
  if (third === undefined)
    return UNARY.test(first.raw) && isPlain(second) ? [literal(first.raw), quoted(second)] : undefined;
  const isComparison = isPlain(first) && COMPARISON.test(second.raw) && isPlain(third) && isText(third);
  return isComparison ? [quoted(first), literal(second.raw), quoted(third)] : undefined;
};

/** One test in double brackets as the `[` command that says the same; undefined where there is none. */
export const readDoubleBracket = (
  tokens: readonly (WordToken | RedirectionToken)[],
): ShellCommand | undefined => {
  const operands = tokens.flatMap((token) => (token.kind === "word" ? [token] : []));
  if (operands.length < tokens.length || operands.at(-1)?.raw !== "]]") return undefined;
  const inner = operands.slice(1, -1);
  const isNegated = inner[0]?.raw === "!";
  const condition = conditionOf(isNegated ? inner.slice(1) : inner);
  if (condition === undefined) return undefined;
  const args = [literal("["), ...(isNegated ? [literal("!")] : []), ...condition, literal("]")];
  return { assignments: [], args, redirections: [] };
};
