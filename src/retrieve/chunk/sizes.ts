/** Sizes of chunks. The limit on characters bounds the cost of a snippet, the one on rows keeps it readable. */
export interface Sizes {
  readonly targetChars: number;
  readonly targetRows: number;
  /** Chunks are never joined beyond these, and larger ones are split. */
  readonly maxChars: number;
  readonly maxRows: number;
}

/** About 50 rows of ordinary source; 2,000 characters are some 500 tokens, of the 600 of a default answer. */
export const SIZES: Sizes = { targetChars: 1_800, targetRows: 45, maxChars: 3_000, maxRows: 80 };

/** A line longer than `maxChars` is split; the first pieces are enough to recognise a minified bundle. */
export const MAX_PIECES_OF_LINE = 8;
export const MAX_PIECES_OF_FILE = 32;

/** Limits what one file adds to the index. Hand-written source stays far below. */
export const MAX_CHUNKS: Readonly<Record<"code" | "prose" | "data" | "text", number>> = {
  code: 2_000,
  prose: 2_000,
  data: 300,
  text: 300,
};

/** A file of this size is generated; its start is enough to describe it. */
export const HUGE_FILE_CHARS = 1_500_000;
export const MAX_CHUNKS_OF_HUGE = 200;
