import { DocumentFailure } from "./limits.ts";

export interface DecodedText {
  /** Lines end in `\n`; no control characters but tabs; no lone surrogates. */
  readonly text: string;
  readonly warnings: readonly string[];
}

const BOMS: readonly (readonly [encoding: string, bytes: readonly number[]])[] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];

const SAMPLE_BYTES = 4096;

const isZero = (byte: number): boolean => byte === 0;

/** UTF-16 without a mark: in Latin text, every other byte is zero. */
const wideEncoding = (sample: Uint8Array): string | undefined => {
  const pairs = Math.floor(sample.length / 2);
  if (pairs < 2) return undefined;
  const even = sample.filter((byte, index) => index % 2 === 0 && isZero(byte)).length;
  const odd = sample.filter((byte, index) => index % 2 === 1 && isZero(byte)).length;
  if (odd > pairs * 0.4 && even < pairs * 0.1) return "utf-16le";
  if (even > pairs * 0.4 && odd < pairs * 0.1) return "utf-16be";
  return undefined;
};

const encodingOf = (bytes: Uint8Array): string | undefined =>
  BOMS.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte))?.[0] ??
  wideEncoding(bytes.subarray(0, SAMPLE_BYTES));

/** Characters that no text needs and that change what a terminal or a model reads. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

export const normalise = (text: string): string =>
  text
    .replace(/\r\n?/g, "\n")
    .replace(/\u0085|\u2028|\u2029/g, "\n")
    .replace(CONTROLS, "")
    .toWellFormed();

const tryDecode = (bytes: Uint8Array, label: string): string | undefined => {
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    // Not in that encoding, or there is none of that name.
    return undefined;
  }
};

/**
 * Text of bytes in whatever encoding: that of a byte order mark, UTF-8, the one that the document declares, else UTF-8 with
 * its invalid bytes replaced. Refuses what is not text.
 */
export const decodeText = (bytes: Uint8Array, declared?: string): DecodedText => {
  const marked = encodingOf(bytes);
  if (marked === undefined && bytes.subarray(0, SAMPLE_BYTES).some(isZero))
    throw new DocumentFailure(
      "unsupported_media",
      "The document is not text, and of no format that is read here.",
    );
  const strict =
    tryDecode(bytes, marked ?? "utf-8") ?? (declared === undefined ? undefined : tryDecode(bytes, declared));
  if (strict !== undefined) return { text: normalise(strict), warnings: [] };
  const encoding = marked ?? "utf-8";
  const lenient = new TextDecoder(encoding).decode(bytes);
  return {
    text: normalise(lenient),
    warnings: [`Bytes that are not valid ${encoding.toUpperCase()} were replaced.`],
  };
};
