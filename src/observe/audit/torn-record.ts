import { MAX_RECORD_BYTES } from "./bounded.ts";
import { type Link, MAC_CHARS, MAC_KEY, readRecord, type Sign, startOf } from "./chain.ts";

/** Reads compact JSON of a record, as it is written; the text may end anywhere. */
class JsonPrefix {
  readonly #text: string;
  #at: number;

  constructor(text: string, at: number) {
    this.#text = text;
    this.#at = at;
  }

  get isOver(): boolean {
    return this.#at >= this.#text.length;
  }

  #match(token: RegExp): string | undefined {
    token.lastIndex = this.#at;
    const found = token.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  /** Whether what is there is this text, or as much of it as there is. */
  #word(word: string): boolean {
    const rest = this.#text.slice(this.#at, this.#at + word.length);
    if (!word.startsWith(rest)) return false;
    this.#at += rest.length;
    return true;
  }

  #string(): boolean {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has none of them in a string.
    this.#match(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\bfnrt]|u[0-9a-f]{4}))*/y);
    if (this.isOver) return true;
    // The rest of an escape, where the text ends in it.
    if (this.#match(/\\(?:u[0-9a-f]{0,3})?$/y) !== undefined) return true;
    return this.#match(/"/y) !== undefined;
  }

  #isNext(sign: RegExp): boolean {
    return this.#match(sign) !== undefined;
  }

  /** A key and its colon, as far as they go. */
  #key(): boolean {
    return this.#text[this.#at] === '"' && this.#string() && (this.isOver || this.#word(":"));
  }

  #scalar(): boolean {
    switch (this.#text[this.#at]) {
      case '"':
        return this.#string();
      case "t":
        return this.#word("true");
      case "f":
        return this.#word("false");
      case "n":
        return this.#word("null");
      default:
        return this.#isNext(/-?\d+(?:\.\d*)?(?:e[+-]?\d*)?|-$/y);
    }
  }

  /**
   * The members of the object at the top, as far as they go; it has not ended. What is open is kept in a list: brackets of
   * somebody who adds to a file may be as many as fit.
   */
  members(): boolean {
    const open: ("]" | "}")[] = ["}"];
    while (!this.isOver) {
      if (open.at(-1) === "}" && !this.#key()) return false;
      if (this.isOver) break;
      if (this.#isNext(/\{/y)) {
        open.push("}");
        if (!this.#isNext(/\}/y)) continue;
        open.pop();
      } else if (this.#isNext(/\[/y)) {
        open.push("]");
        if (!this.#isNext(/\]/y)) continue;
        open.pop();
      } else if (!this.#scalar()) return false;
      while (open.length > 1 && this.#isNext(open.at(-1) === "]" ? /\]/y : /\}/y)) open.pop();
      if (!this.isOver && !this.#isNext(/,/y)) return false;
    }
    return true;
  }
}

/** The signature that a piece ends with, as far as it is there, and what it is of. */
const signedPart = (piece: string): { readonly signed: string; readonly mac: string } | undefined => {
  const at = piece.lastIndexOf(MAC_KEY);
  const mac = piece.slice(at + MAC_KEY.length);
  return at < 0 || !/^[\w-]*"?$/.test(mac) ? undefined : { signed: piece.slice(0, at), mac };
};

/**
 * Whether a piece of a line can be what a killed process has left of the record after `link`: no longer than one, its
 * beginning that of the next record of this chain, its fields those of a record as far as they go, and its signature, where
 * it comes to that, the right one. Nothing proves who wrote it.
 */
export const isTornRecord = (
  sign: Sign,
  { piece, bytes }: { readonly piece: string; readonly bytes: number },
  chain: string,
  link: Link,
): boolean => {
  const start = startOf(chain, link);
  if (bytes >= MAX_RECORD_BYTES) return false;
  if (start.startsWith(piece)) return true;
  if (!piece.startsWith(start)) return false;
  // Only the line feed is missing.
  if (readRecord(sign, piece) !== undefined) return true;
  const found = signedPart(piece);
  if (found !== undefined)
    return found.mac.length <= MAC_CHARS + 1 && `${sign(found.signed)}"`.startsWith(found.mac);
  return new JsonPrefix(piece, start.length).members();
};
