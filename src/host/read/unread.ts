import { ellipsize, showControls } from "../../base/text.ts";

/** What the operating system did not let a search or a listing read: an answer without it is not the whole answer. */
export interface Unread {
  readonly total: number;
  /** The first by path, as paths are shown, without control characters. */
  readonly first: readonly string[];
}

export const NOTHING_UNREAD: Unread = { total: 0, first: [] };

/** Enough to see where it is. */
const MAX_NAMED = 5;
const MAX_PATH_CHARS = 200;

const shortenPath = (path: string): string =>
  ellipsize(showControls(path).replaceAll(/[\t\r\n]/g, "?"), MAX_PATH_CHARS);

/** Counts all, and holds the first of them. */
export const createUnread = () => {
  let total = 0;
  let first: string[] = [];
  return {
    add: (path: string): void => {
      total++;
      first = [...first, shortenPath(path)].sort().slice(0, MAX_NAMED);
    },
    finish: (): Unread => ({ total, first }),
  };
};

export const addUnread = (a: Unread, b: Unread): Unread => ({
  total: a.total + b.total,
  first: [...a.first, ...b.first].sort().slice(0, MAX_NAMED),
});
