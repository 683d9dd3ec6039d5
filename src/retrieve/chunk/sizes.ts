/** How large chunks are made. Characters bound the cost of a snippet, rows keep it a screenful. */
export interface Sizes {
  readonly targetChars: number;
  readonly targetRows: number;
  /** Neighbours are never joined above these, and what is larger is split. */
  readonly maxChars: number;
  readonly maxRows: number;
}

/** About 50 rows of ordinary source; 2,000 characters are some 500 tokens, most of a default answer's budget. */
export const SIZES: Sizes = { targetChars: 1_800, targetRows: 45, maxChars: 3_000, maxRows: 80 };

/** A line longer than `maxChars` is cut within; of a minified bundle the first pieces say what it is. */
export const MAX_PIECES_OF_LINE = 8;
export const MAX_PIECES_OF_FILE = 32;

/** Bounds what one file adds to an index. Source written by hand stays far below. */
export const MAX_CHUNKS: Readonly<Record<"code" | "prose" | "data" | "text", number>> = {
  code: 2_000,
  prose: 2_000,
  data: 300,
  text: 300,
};

/** Nobody wrote a file of this size: its start says what it is. */
export const HUGE_FILE_CHARS = 1_500_000;
export const MAX_CHUNKS_OF_HUGE = 200;
