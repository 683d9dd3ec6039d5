import { countNewlines, NEWLINE, nextCharacter } from "../../../base/utf8.ts";

export const CHUNK_BYTES = 64 * 1024;

export interface Chunk {
  readonly n: number;
  /** Number, from 0, of the line that the first byte belongs to. */
  readonly newlinesBefore: number;
  /** Number of the first line that starts in this chunk or later. */
  readonly startsBefore: number;
  readonly newlines: number;
  readonly bytes: Buffer;
}

/**
 * Cuts text that comes in pieces, in one buffer of fixed size, at multiples of the chunk size. A character belongs to the
 * chunk that it starts in: all chunks together are the whole text.
 */
export const createChunker = (roomChunks: number) => {
  const buffer = Buffer.allocUnsafe(roomChunks * CHUNK_BYTES + 4096);
  const encoder = new TextEncoder();
  let filled = 0;
  let dropped = 0;
  let nextChunk = 0;
  let newlinesDropped = 0;
  let lastDropped = NEWLINE;

  return {
    /** Bytes taken so far. */
    size: (): number => dropped + filled,
    newlines: (): number => newlinesDropped + countNewlines(buffer.subarray(0, filled)),
    /** Takes as much of the text as there is room for, and returns the rest. */
    add: (text: string): string => {
      const room = buffer.length - filled;
      // A character of a JavaScript string takes three bytes at most: no need to count those of a short text.
      if (text.length * 3 <= room) {
        filled += buffer.write(text, filled);
        return "";
      }
      const { read, written } = encoder.encodeInto(text, buffer.subarray(filled));
      filled += written;
      return text.slice(read);
    },
    isFull: (): boolean => filled >= roomChunks * CHUNK_BYTES,
    /** The chunks that are whole, at the end also the last one. Their bytes are good until `drop`. */
    chunks: (isAtEnd: boolean): readonly Chunk[] => {
      const whole: Chunk[] = [];
      const taken = buffer.subarray(0, filled);
      let newlinesBefore = newlinesDropped;
      for (let n = nextChunk, start = 0; start < filled; n++) {
        const border = (n + 1) * CHUNK_BYTES - dropped;
        if (border > filled && !isAtEnd) break;
        const bytes = taken.subarray(start, nextCharacter(taken, Math.min(border, filled)));
        const startsInLine = (start === 0 ? lastDropped : taken[start - 1]) !== NEWLINE;
        const newlines = countNewlines(bytes);
        whole.push({
          n,
          newlinesBefore,
          startsBefore: newlinesBefore + (startsInLine ? 1 : 0),
          newlines,
          bytes,
        });
        newlinesBefore += newlines;
        start += bytes.length;
      }
      return whole;
    },
    /** Makes room: what `chunks` gave is stored. */
    drop: (chunks: readonly Chunk[]): void => {
      for (const { n, newlines, bytes } of chunks) {
        nextChunk = n + 1;
        newlinesDropped += newlines;
        lastDropped = bytes.at(-1) ?? lastDropped;
        dropped += bytes.length;
        filled -= bytes.length;
      }
      const gone = chunks.reduce((sum, { bytes }) => sum + bytes.length, 0);
      buffer.copyWithin(0, gone, gone + filled);
    },
  };
};
