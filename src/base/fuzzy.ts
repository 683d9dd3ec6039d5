/**
 * How well a path answers to a few letters of its name, from best to worst. The order of the list is the order of
 * results.
 */
const NAME_RANKS = [
  "exact",
  "stem",
  "prefix",
  "word",
  "substring",
  "path",
  // The letters in their order with others between them: only good where nothing else is found.
  "subsequence",
] as const;

export type NameRank = (typeof NAME_RANKS)[number];

export interface RankedName {
  readonly path: string;
  readonly rank: NameRank;
  /** The pattern has capitals, and here they are the same. */
  readonly isSameCase: boolean;
}

const SEPARATOR = /[\s_\-.,+@()[\]{}]/;

const isLetterUp = (letter: string): boolean => letter !== letter.toLowerCase();

/** After a separator, or at the hump of a camel: `service` in user-service and in UserService. */
const startsWord = (path: string, at: number): boolean => {
  const before = path[at - 1] ?? "/";
  return before === "/" || SEPARATOR.test(before) || (isLetterUp(path[at] ?? "") && !isLetterUp(before));
};

const hasWordStart = (path: string, lower: string, needle: string, from: number): boolean => {
  for (let at = lower.indexOf(needle, from); at >= 0; at = lower.indexOf(needle, at + 1)) {
    if (startsWord(path, at)) return true;
  }
  return false;
};

const isSubsequence = (needle: string, text: string, from: number): boolean => {
  let at = from - 1;
  for (const letter of needle) {
    at = text.indexOf(letter, at + 1);
    if (at < 0) return false;
  }
  return true;
};

/**
 * Case never keeps a name from being found; where the pattern has capitals, names that have the same come first. A
 * pattern with a slash speaks of the end of the path, any other of the last name in it.
 */
export const createNameRanker = (pattern: string): ((path: string) => RankedName | undefined) => {
  const needle = pattern.toLowerCase().replace(/^\.?\/+/, "");
  const written = pattern.replace(/^\.?\/+/, "");
  const hasCapitals = written !== needle;
  const speaksOfPath = needle.includes("/");

  const rankOf = (path: string, lower: string): NameRank | undefined => {
    const nameStart = lower.lastIndexOf("/") + 1;
    const end = speaksOfPath ? lower.length - needle.length : nameStart;
    const isAtEnd =
      speaksOfPath && end >= 0 && lower.endsWith(needle) && (end === 0 || lower[end - 1] === "/");
    if (isAtEnd) return "exact";
    const from = speaksOfPath ? 0 : nameStart;
    const at = lower.indexOf(needle, from);
    if (at < 0) {
      if (!speaksOfPath && lower.includes(needle)) return "path";
      return isSubsequence(needle, lower, from) ? "subsequence" : undefined;
    }
    const after = at + needle.length;
    if (at === from || (speaksOfPath && lower[at - 1] === "/")) {
      if (after === lower.length) return "exact";
      return lower[after] === "." && after === lower.lastIndexOf(".") ? "stem" : "prefix";
    }
    return hasWordStart(path, lower, needle, at) ? "word" : "substring";
  };

  return (path) => {
    const rank = rankOf(path, path.toLowerCase());
    return rank === undefined ? undefined : { path, rank, isSameCase: hasCapitals && path.includes(written) };
  };
};

/** Better rank first, then the capitals asked for, then shorter paths, then by letters. */
export const compareRanked = (a: RankedName, b: RankedName): number => {
  if (a.rank !== b.rank) return NAME_RANKS.indexOf(a.rank) - NAME_RANKS.indexOf(b.rank);
  if (a.isSameCase !== b.isSameCase) return a.isSameCase ? -1 : 1;
  if (a.path.length !== b.path.length) return a.path.length - b.path.length;
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
};
