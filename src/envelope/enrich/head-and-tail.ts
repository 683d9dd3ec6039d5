import { type Folded, foldRepeats, shorten } from "../text/lines.ts";
import { countFitting, fits } from "./budget.ts";
import type { EnrichLimits } from "./contract.ts";
import { rankErrorLine } from "./error-lines.ts";

interface Shares {
  /** Part of the budget for the beginning; the end gets the rest. */
  readonly head: number;
  /** Lines in between that report errors are shown, too. */
  readonly errors?: boolean;
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

/** The lines between that say what went wrong, with their numbers; those that report a failure come first. */
const notable = (middle: readonly Folded[], limits: EnrichLimits): string[] => {
  const found: Readonly<Record<1 | 2, string[]>> = { 1: [], 2: [] };
  let total = 0;
  for (const { text, first } of middle) {
    const rank = rankErrorLine(text);
    if (rank === 0) continue;
    total++;
    if (found[rank].length < MAX_NOTABLE) found[rank].push(`${first}: ${shorten(text, 200)}`);
  }
  const best = [...found[2], ...found[1]].slice(0, MAX_NOTABLE);
  const shown = best.slice(0, countFitting(best, limits.maxTokens * 0.25));
  if (shown.length === 0) return [];
  const isCut = total > shown.length;
  const order = found[2].length === 0 ? "the first" : "failures first,";
  return [
    `[of the lines left out, ${total} speak of errors${isCut ? `; ${order} ${shown.length}` : ""}:]`,
    ...shown,
  ];
};

/** The beginning and the end of a long text, with the numbers of the omitted lines in between. */
export const headAndTail = (
  lines: readonly string[],
  limits: EnrichLimits,
  { head, errors = false }: Shares,
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
  const wanted = errors ? room * 0.75 : room;
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
      ...(errors ? notable(middle, limits) : []),
      ...last.slice(0, tailCount).reverse(),
    ].join("\n"),
    truncated: true,
  };
};
