import { type Folded, foldRepeats, shorten } from "../text/lines.ts";
import { countFitting, fits } from "./budget.ts";
import type { EnrichLimits } from "./contract.ts";

interface Shares {
  /** Part of the budget for the beginning; the end gets the rest. */
  readonly head: number;
  /** Lines in between that must not be missed. */
  readonly matters?: RegExp;
}

interface HeadAndTail {
  readonly text: string;
  readonly truncated: boolean;
}

/** Fewer repeats than this are cheaper shown than counted. */
const MIN_FOLDED = 3;
const MAX_NOTABLE = 12;
/** For the notes between the parts. */
const NOTE_TOKENS = 40;

const unfold = ({ text, count }: Folded): string[] =>
  count < MIN_FOLDED
    ? Array.from({ length: count }, () => shorten(text))
    : [shorten(text), `[the same line ${count - 1} more times]`];

const lastLineOf = ({ first, count }: Folded): number => first + count - 1;

const isPlain = (text: string): boolean => text.length < 2000;

/** The lines between that say what went wrong, with their numbers. */
const notable = (middle: readonly Folded[], matters: RegExp | undefined, limits: EnrichLimits): string[] => {
  if (matters === undefined) return [];
  const found: string[] = [];
  let total = 0;
  for (const { text, first } of middle) {
    if (!matters.test(isPlain(text) ? text : text.slice(0, 2000))) continue;
    total++;
    if (found.length < MAX_NOTABLE) found.push(`${first}: ${shorten(text, 200)}`);
  }
  const shown = found.slice(0, countFitting(found, limits.maxTokens * 0.25));
  return shown.length === 0
    ? []
    : [
        `[of the lines left out, ${total} speak of errors${total > shown.length ? `; the first ${shown.length}` : ""}:]`,
        ...shown,
      ];
};

/** The beginning and the end of a long text, with the numbers of the omitted lines in between. */
export const headAndTail = (
  lines: readonly string[],
  limits: EnrichLimits,
  { head, matters }: Shares,
): HeadAndTail => {
  const folded = foldRepeats(lines);
  const piecesOf = (some: readonly Folded[]): string[] => some.map((each) => unfold(each).join("\n"));
  // A line costs at least one token, so further lines need not be examined.
  if (folded.length <= limits.maxTokens) {
    const text = piecesOf(folded).join("\n");
    // Repeated lines are counted, so nothing is missing without them.
    if (fits(text, limits)) return { text, truncated: lines.some((line) => shorten(line) !== line) };
  }
  const room = Math.max(0, limits.maxTokens - NOTE_TOKENS);
  const wanted = matters === undefined ? room : room * 0.75;
  const first = piecesOf(folded.slice(0, limits.maxTokens));
  const headCount = countFitting(first, wanted * head);
  const last = piecesOf(folded.slice(Math.max(headCount, folded.length - limits.maxTokens))).reverse();
  const tailCount = countFitting(last, wanted * (1 - head));
  const middle = folded.slice(headCount, folded.length - tailCount);
  const [from, to] = [middle[0], middle.at(-1)];
  if (from === undefined || to === undefined) return { text: first.join("\n"), truncated: true };
  return {
    text: [
      ...first.slice(0, headCount),
      `[lines ${from.first}–${lastLineOf(to)} of ${lines.length} left out]`,
      ...notable(middle, matters, limits),
      ...last.slice(0, tailCount).reverse(),
    ].join("\n"),
    truncated: true,
  };
};
