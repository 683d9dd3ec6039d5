import { ellipsize } from "../../../base/text.ts";
import { nextCharacter } from "../../../base/utf8.ts";
import type { LineSlice, SliceBounds } from "../../read/line-slicer.ts";
import type { Database } from "../database/database.ts";
import type { HandleStore } from "./store.ts";

/** A matching line, counted from 1, and the byte of its first match, from 0. */
export interface GrepHit {
  readonly line: number;
  readonly byte: number;
}

/** Searches text that comes in pieces. Returns the first hits after a number of lines, and the number of all of those. */
export type Grep = (
  pattern: string,
  text: AsyncIterable<Buffer> | Iterable<Buffer>,
  bounds: {
    readonly offsetLines: number;
    readonly maxHits: number;
    /** Lines that it is not true of are no hits, whatever they hold; asked after the line has been given. */
    readonly isCounted: (line: number) => boolean;
  },
  signal?: AbortSignal,
) => Promise<{ readonly hits: readonly GrepHit[]; readonly total: number }>;

/**
 * How stored lines read for a search, where they are stored in another form: one line each. Undefined: what it was made
 * from may not be read any more, so that nothing may be learnt about it either.
 */
export type SearchText = (
  lines: readonly string[],
  signal?: AbortSignal,
) => Promise<readonly (string | undefined)[]>;

/** Of a long line, as in a search of files. */
const MAX_LINE_CHARS = 200;
const BEFORE_MATCH_BYTES = 60;
const AFTER_MATCH_BYTES = 4 * MAX_LINE_CHARS;
/** Further into a line a match is not shown, only its beginning. */
const MAX_SEEK_BYTES = 4 * 1024 * 1024;

/** The chunks of a payload, one after the other, each read when it is needed. */
export const chunksOf = function* (state: Database, store: HandleStore, blob: number): Generator<Buffer> {
  for (let n = 0; ; n++) {
    const chunk = state.read(() => store.chunk(blob, n));
    if (chunk === undefined) return;
    yield chunk.bytes;
  }
};

/** The same lines as a search reads them; those that may not be read are empty, and their numbers are reported. */
export const inSearchText = async function* (
  chunks: Iterable<Buffer>,
  toTexts: SearchText,
  onWithheld: (line: number) => void,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  let rest = "";
  let before = 0;
  const decoder = new TextDecoder();
  const convert = async (lines: readonly string[]): Promise<string> => {
    const texts = await toTexts(lines, signal);
    for (const [at, text] of texts.entries()) if (text === undefined) onWithheld(before + at + 1);
    before += lines.length;
    return texts.map((text) => text ?? "").join("\n");
  };
  for (const chunk of chunks) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) yield Buffer.from(`${await convert(lines)}\n`);
  }
  if (rest !== "") yield Buffer.from(await convert([rest]));
};

const around = (text: string, byte: number): string => {
  if (text.length <= MAX_LINE_CHARS || byte <= MAX_LINE_CHARS - BEFORE_MATCH_BYTES)
    return ellipsize(text, MAX_LINE_CHARS);
  const bytes = Buffer.from(text).subarray(byte - BEFORE_MATCH_BYTES);
  return `…${ellipsize(bytes.toString("utf8", nextCharacter(bytes, 0)), MAX_LINE_CHARS)}`;
};

/** The lines of hits as they are shown: with their number, or as their renderer writes them. */
export const showHits = async (
  hits: readonly GrepHit[],
  readLines: (bounds: SliceBounds) => Promise<LineSlice | undefined>,
  isRendered: boolean,
): Promise<string> => {
  const shown: string[] = [];
  for (const { line, byte } of hits) {
    const maxBytes = Math.min(byte, MAX_SEEK_BYTES) + AFTER_MATCH_BYTES;
    const found = await readLines({ offsetLines: line - 1, maxLines: 1, maxBytes });
    const text = (found?.text ?? "").replace(/\r?\n$/, "");
    shown.push(isRendered ? text : `${line}:${around(text, byte)}`);
  }
  return shown.length === 0 ? "" : `${shown.join("\n")}\n`;
};
