import { createHash } from "node:crypto";
import { isRecord } from "../base/is-record.ts";
import { createPace } from "../llm/pace.ts";
import { detectLanguage } from "../syntax/detect-language.ts";
import { languageNamed, languageOf } from "../syntax/languages.ts";

/** A range of the context, in UTF-16 units; `Offsets` translates them for Python, which counts characters. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Whether a program has given a range that is not empty. */
export const isSpan = (given: unknown): given is Span => {
  if (!isRecord(given)) return false;
  const { start, end } = given;
  return (
    Number.isSafeInteger(start) &&
    Number.isSafeInteger(end) &&
    Number(start) >= 0 &&
    Number(start) < Number(end)
  );
};

/** A part of the context, as a program gets it. */
export interface Passage extends Span {
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
}

/** How much of a context is read, encoded or sent at once. */
const PIECE_CHARS = 256 * 1024;

const HEAD_LINES = 12;
const HEAD_CHARS = 1500;

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;

interface ContextHint {
  readonly path?: string | undefined;
  readonly language?: string | undefined;
}

/** What is known of the whole text, from reading it once. */
interface Facts {
  readonly bytes: number;
  /** The first half of its SHA-256. */
  readonly sha256: string;
  /** Whether some characters have two UTF-16 units. */
  readonly hasPairs: boolean;
  readonly lineStarts: Uint32Array;
}

const languageFor = (text: string, { path, language }: ContextHint): string | undefined => {
  const named = language === undefined ? undefined : languageNamed(language);
  return named ?? (path === undefined ? detectLanguage(text) : languageOf(path, text.slice(0, 4096)).id);
};

/** Pieces of a text, none of which ends in the middle of a character: no second copy of a large one is ever held. */
function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + PIECE_CHARS);
    if (isHighSurrogate(text.charCodeAt(end - 1)) && end < text.length) end++;
    yield text.slice(at, end);
    at = end;
  }
}

function* lineBreaksOf(piece: string): Generator<number> {
  for (let at = piece.indexOf("\n"); at >= 0; at = piece.indexOf("\n", at + 1)) yield at;
}

/** A hundred megabytes take more than a second: others are answered meanwhile. */
const readFacts = async (text: string, signal: AbortSignal | undefined): Promise<Facts> => {
  const pace = createPace(signal);
  const hash = createHash("sha256");
  let [bytes, lines, hasPairs] = [0, 1, false];
  for (const piece of piecesOf(text)) {
    hash.update(piece);
    bytes += Buffer.byteLength(piece);
    hasPairs ||= /[\ud800-\udbff]/.test(piece);
    for (const _ of lineBreaksOf(piece)) lines++;
    await pace();
  }
  // Counted first: a list that grows would take several times as much.
  const lineStarts = new Uint32Array(lines);
  let [line, before] = [1, 0];
  for (const piece of piecesOf(text)) {
    for (const at of lineBreaksOf(piece)) lineStarts[line++] = before + at + 1;
    before += piece.length;
    await pace();
  }
  return { bytes, sha256: hash.digest("hex").slice(0, 32), hasPairs, lineStarts };
};

/** The text that is analysed. Only its size and beginning are shown to the model; the rest it reads by program. */
export class Context {
  readonly text: string;
  /** The id of its language, where it is known. */
  readonly language: string | undefined;
  readonly #facts: Facts;

  private constructor(text: string, language: string | undefined, facts: Facts) {
    this.text = text;
    this.language = language;
    this.#facts = facts;
  }

  static async of(text: string, hint: ContextHint, signal: AbortSignal | undefined): Promise<Context> {
    return new Context(text, languageFor(text, hint), await readFacts(text, signal));
  }

  get bytes(): number {
    return this.#facts.bytes;
  }

  get sha256(): string {
    return this.#facts.sha256;
  }

  get hasPairs(): boolean {
    return this.#facts.hasPairs;
  }

  get lines(): number {
    return this.#facts.lineStarts.length;
  }

  /** Counted from 1. */
  lineAt(offset: number): number {
    const { lineStarts: starts } = this.#facts;
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  }

  /** Without the line end. */
  spanOfLine(line: number): Span {
    const { lineStarts: starts } = this.#facts;
    const start = starts[line - 1] ?? this.text.length;
    const next = starts[line];
    return { start, end: next === undefined ? this.text.length : next - 1 };
  }

  pieces(): Generator<string> {
    return piecesOf(this.text);
  }

  *slices(): Generator<Buffer> {
    for (const piece of this.pieces()) yield Buffer.from(piece);
  }

  head(): string {
    const end = this.spanOfLine(Math.min(HEAD_LINES, this.lines)).end;
    return this.text.slice(0, Math.min(end, HEAD_CHARS)).toWellFormed();
  }
}
