import { detectLanguage } from "../syntax/detect-language.ts";
import { languageNamed, languageOf } from "../syntax/languages.ts";

/** A range of the context, in UTF-16 units; `Offsets` translates them for Python, which counts characters. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A part of the context, as a program gets it. */
export interface Passage extends Span {
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
}

/** How much of a context is encoded or sent at once. */
const PIECE_CHARS = 256 * 1024;

const HEAD_LINES = 12;
const HEAD_CHARS = 1500;

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;

/** The text that is analysed. Only its size and beginning are shown to the model; the rest it reads by program. */
export class Context {
  readonly text: string;
  /** The id of its language, where it is known. */
  readonly language: string | undefined;
  #bytes: number | undefined;
  #lineStarts: Uint32Array | undefined;

  constructor(
    text: string,
    hint: { readonly path?: string | undefined; readonly language?: string | undefined } = {},
  ) {
    this.text = text;
    const named = hint.language === undefined ? undefined : languageNamed(hint.language);
    this.language =
      named ??
      (hint.path === undefined ? detectLanguage(text) : languageOf(hint.path, text.slice(0, 4096)).id);
  }

  get bytes(): number {
    this.#bytes ??= Buffer.byteLength(this.text);
    return this.#bytes;
  }

  get lines(): number {
    return this.#starts().length;
  }

  /** Counted from 1. */
  lineAt(offset: number): number {
    const starts = this.#starts();
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
    const starts = this.#starts();
    const start = starts[line - 1] ?? this.text.length;
    const next = starts[line];
    return { start, end: next === undefined ? this.text.length : next - 1 };
  }

  /** Pieces of the text, none of which ends in the middle of a character: no second copy of a large one is ever held. */
  *pieces(): Generator<string> {
    for (let at = 0; at < this.text.length; ) {
      let end = Math.min(this.text.length, at + PIECE_CHARS);
      if (isHighSurrogate(this.text.charCodeAt(end - 1)) && end < this.text.length) end++;
      yield this.text.slice(at, end);
      at = end;
    }
  }

  *slices(): Generator<Buffer> {
    for (const piece of this.pieces()) yield Buffer.from(piece);
  }

  head(): string {
    const end = this.spanOfLine(Math.min(HEAD_LINES, this.lines)).end;
    return this.text.slice(0, Math.min(end, HEAD_CHARS)).toWellFormed();
  }

  #starts(): Uint32Array {
    if (this.#lineStarts === undefined) {
      const { text } = this;
      let lines = 1;
      for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++;
      // Counted first: a list that grows would take several times as much.
      const starts = new Uint32Array(lines);
      for (let at = text.indexOf("\n"), line = 1; at >= 0; at = text.indexOf("\n", at + 1))
        starts[line++] = at + 1;
      this.#lineStarts = starts;
    }
    return this.#lineStarts;
  }
}
