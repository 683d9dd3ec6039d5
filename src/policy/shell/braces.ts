import type { ExpansionBudget } from "./expansion-budget.ts";
import { refuseConstruct } from "./refusals.ts";

/** The alternatives between a brace and its partner, and where the partner is; undefined without one. */
const splitGroup = (
  text: string,
  open: number,
): { readonly parts: string[]; readonly close: number } | undefined => {
  const parts: string[] = [];
  let depth = 0;
  let from = open + 1;
  for (let at = open; at < text.length; at++) {
    const letter = text[at];
    if (letter === "{") depth++;
    else if (letter === "," && depth === 1) {
      parts.push(text.slice(from, at));
      from = at + 1;
    } else if (letter === "}" && --depth === 0) {
      parts.push(text.slice(from, at));
      return { parts, close: at };
    }
  }
  return undefined;
};

const NUMBERS = /^(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?$/;
const LETTERS = /^([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d{1,9}))?$/;

function* count(first: number, last: number, step: number): Generator<number> {
  const stride = Math.max(1, Math.abs(step)) * (first <= last ? 1 : -1);
  for (let at = first; stride > 0 ? at <= last : at >= last; at += stride) yield at;
}

/** `1..3`, `01..10..2`, `a..e`; undefined where it is no range. */
const expandRange = (range: string, { spend }: ExpansionBudget): string[] | undefined => {
  const made: string[] = [];
  const add = (text: string): void => {
    spend(text.length);
    made.push(text);
  };
  const [, low = "", high = "", step = "1"] = NUMBERS.exec(range) ?? [];
  if (low !== "") {
    const isPadded = /^-?0\d/.test(low) || /^-?0\d/.test(high);
    const width = isPadded ? Math.max(low.length, high.length) : 0;
    for (const number of count(Number(low), Number(high), Number(step))) {
      const digits = String(Math.abs(number));
      add(number < 0 ? `-${digits.padStart(width - 1, "0")}` : digits.padStart(width, "0"));
    }
    return made;
  }
  const [, first = "", last = "", stride = "1"] = LETTERS.exec(range) ?? [];
  if (first === "") return undefined;
  // Between the capital and the small letters there are quotes, which bash reads as such.
  if (/[a-z]/.test(first) !== /[a-z]/.test(last))
    throw refuseConstruct("a range from capital to small letters", `{${range}}`, "Write two: {A..Z} {a..z}.");
  for (const code of count(first.charCodeAt(0), last.charCodeAt(0), Number(stride)))
    add(String.fromCharCode(code));
  return made;
};

/** All that braces stand for, in the shell's order. Every text on the way is paid for before it is made. */
export const expandBraceText = (text: string, budget: ExpansionBudget): string[] => {
  for (let open = text.indexOf("{"); open >= 0; open = text.indexOf("{", open + 1)) {
    const group = splitGroup(text, open);
    if (group === undefined) continue;
    const [only = "", ...more] = group.parts;
    const alternatives =
      more.length > 0
        ? group.parts.flatMap((part) => expandBraceText(part, budget))
        : expandRange(only, budget);
    if (alternatives === undefined) continue;
    const before = text.slice(0, open);
    const rests = expandBraceText(text.slice(group.close + 1), budget);
    const expanded: string[] = [];
    for (const alternative of alternatives)
      for (const rest of rests) {
        budget.spend(before.length + alternative.length + rest.length);
        expanded.push(`${before}${alternative}${rest}`);
      }
    return expanded;
  }
  budget.spend(text.length);
  return [text];
};
