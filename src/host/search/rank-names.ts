/** How a path matches a pattern, from best to worst; results come in this order. */
const NAME_RANKS = [
  "exact",
  "stem",
  "prefix",
  "word",
  "substring",
  "path",
  // The letters in order with others between them: used only if nothing else is found.
  "subsequence",
] as const;

export type NameRank = (typeof NAME_RANKS)[number];

export interface RankedName {
  readonly path: string;
  readonly rank: NameRank;
  /** The pattern has capitals, and the path has the same ones. */
  readonly isSameCase: boolean;
}

const SEPARATOR = /[\s_\-.,+@()[\]{}]/;

const isUpperCase = (letter: string): boolean => letter !== letter.toLowerCase();

/** After a separator or at a capital: `service` in user-service and in UserService. */
const startsWord = (path: string, at: number): boolean => {
  const before = path[at - 1] ?? "/";
  return before === "/" || SEPARATOR.test(before) || (isUpperCase(path[at] ?? "") && !isUpperCase(before));
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
 * Matching ignores case; if the pattern has capitals, names with the same capitals come first. A pattern with a slash is
 * matched against the end of the path, any other against its last name.
 */
export const createNameRanker = (pattern: string): ((path: string) => RankedName | undefined) => {
  const needle = pattern.toLowerCase().replace(/^\.?\/+/, "");
  const written = pattern.replace(/^\.?\/+/, "");
  const hasCapitals = written !== needle;
  const matchesPath = needle.includes("/");

  const rankOf = (path: string, lower: string): NameRank | undefined => {
    const nameStart = lower.lastIndexOf("/") + 1;
    const end = matchesPath ? lower.length - needle.length : nameStart;
    const isAtEnd =
      matchesPath && end >= 0 && lower.endsWith(needle) && (end === 0 || lower[end - 1] === "/");
    if (isAtEnd) return "exact";
    const from = matchesPath ? 0 : nameStart;
    const at = lower.indexOf(needle, from);
    if (at < 0) {
      if (!matchesPath && lower.includes(needle)) return "path";
      return isSubsequence(needle, lower, from) ? "subsequence" : undefined;
    }
    const after = at + needle.length;
    if (at === from || (matchesPath && lower[at - 1] === "/")) {
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

/** Better rank first, then the same capitals, then shorter paths, then alphabetically. */
export const compareRanked = (a: RankedName, b: RankedName): number => {
  if (a.rank !== b.rank) return NAME_RANKS.indexOf(a.rank) - NAME_RANKS.indexOf(b.rank);
  if (a.isSameCase !== b.isSameCase) return a.isSameCase ? -1 : 1;
  if (a.path.length !== b.path.length) return a.path.length - b.path.length;
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
};
