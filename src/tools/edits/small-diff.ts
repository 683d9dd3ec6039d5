import { ellipsize } from "../../base/text.ts";

/** Lines of a diff that are shown: whoever made the change knows it, and only has to see where it went. */
const MAX_LINES = 8;
const MAX_LINE_CHARS = 120;
/** Of both texts: holding and comparing the lines of larger ones takes longer than the change. */
const MAX_CHARS = 8 * 1024 * 1024;
/** How far ahead the next line is looked for that both texts have. */
const MAX_SCAN_LINES = 200;
/** Lines that are looked at for that in all, some 20 ms: every change of a large text may be a long way from the next. */
const MAX_SCANNED = 2_000_000;

interface Change {
  /** Line of the new text, counted from 1. */
  readonly line: number;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** The nearest pair of equal lines after two that differ, as distances; both to the end where there is none in reach. */
const findNextEqual = (
  before: readonly string[],
  after: readonly string[],
  i: number,
  j: number,
): readonly [removed: number, added: number] => {
  for (let sum = 1; sum <= MAX_SCAN_LINES; sum++) {
    for (let removed = 0; removed <= sum; removed++) {
      const [a, b] = [before[i + removed], after[j + sum - removed]];
      if (a !== undefined && a === b) return [removed, sum - removed];
    }
  }
  return [before.length - i, after.length - j];
};

interface Changes {
  readonly changes: readonly Change[];
  /** There are others, which were not looked for. */
  readonly hasMore: boolean;
}

const changesOf = (before: readonly string[], after: readonly string[]): Changes => {
  const changes: Change[] = [];
  let i = 0;
  let j = 0;
  let scanned = 0;
  while (i < before.length || j < after.length) {
    if (before[i] === after[j]) {
      i++;
      j++;
      continue;
    }
    if (scanned > MAX_SCANNED) return { changes, hasMore: true };
    const [removed, added] = findNextEqual(before, after, i, j);
    scanned += Math.min(removed + added, MAX_SCAN_LINES) ** 2 / 2;
    changes.push({
      line: j + 1,
      removed: before.slice(i, i + removed),
      added: after.slice(j, j + added),
    });
    i += removed;
    j += added;
  }
  return { changes, hasMore: false };
};

const shown = (mark: string, line: string): string =>
  `${mark}${ellipsize(line.replace(/\r$/, ""), MAX_LINE_CHARS)}`;

/** What changed, in a few lines: `@@ 12` and then the lines that went and came. Empty where nothing did. */
export const smallDiff = (before: string, after: string): string => {
  if (before === after) return "";
  if (before.length + after.length > MAX_CHARS) return "[too large to be compared]";
  const lines: string[] = [];
  let left = MAX_LINES;
  let hidden = 0;
  const { changes, hasMore } = changesOf(before.split("\n"), after.split("\n"));
  for (const { line, removed, added } of changes) {
    const all = [...removed.map((text) => shown("-", text)), ...added.map((text) => shown("+", text))];
    // Half of a large change is its removed lines: as much is kept for the added ones.
    const kept =
      all.length <= left
        ? all
        : [
            ...all.slice(0, Math.min(removed.length, Math.max(Math.floor(left / 2), left - added.length))),
            ...all.slice(removed.length),
          ].slice(0, left);
    if (kept.length > 0) lines.push(`@@ ${line}`, ...kept);
    left -= kept.length;
    hidden += all.length - kept.length;
  }
  if (hasMore) lines.push("… many more changed lines");
  else if (hidden > 0) lines.push(`… ${hidden} more changed lines`);
  return lines.join("\n");
};
