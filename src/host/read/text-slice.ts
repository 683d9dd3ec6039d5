import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { readAt } from "../reach/descriptor.ts";
import { createLineSlicer, type LineSlice, type SliceBounds } from "./line-slicer.ts";

const CHUNK_BYTES = 64 * 1024;
const SNIFF_BYTES = 8 * 1024;

const startsWith = (head: Buffer, ...bytes: number[]): boolean => bytes.every((byte, i) => head[i] === byte);

/** How a text file is stored; a rewrite keeps it. */
export type TextForm = "utf-8" | "utf-8 with BOM" | "utf-16le" | "utf-16be";

/** By the first bytes. */
export const sniff = (head: Buffer): TextForm | "binary" => {
  if (startsWith(head, 0xef, 0xbb, 0xbf)) return "utf-8 with BOM";
  // Two NULs after it would mean UTF-32, which is not supported.
  if (startsWith(head, 0xff, 0xfe) && !startsWith(head, 0xff, 0xfe, 0, 0)) return "utf-16le";
  if (startsWith(head, 0xfe, 0xff)) return "utf-16be";
  return head.subarray(0, SNIFF_BYTES).includes(0) ? "binary" : "utf-8";
};

/** Two bytes to a letter: a newline cannot be found by its byte. */
export const isWide = async (fd: number): Promise<boolean> => {
  const head = Buffer.alloc(4);
  await readAt(fd, head, 0);
  return sniff(head).startsWith("utf-16");
};

/** Turns a file, chunk by chunk, into UTF-8 without its BOM. */
const createTranscoder = (form: TextForm): ((chunk: Buffer, atEnd: boolean) => Buffer) => {
  if (form === "utf-16le" || form === "utf-16be") {
    const decoder = new TextDecoder(form);
    return (chunk, atEnd) => Buffer.from(decoder.decode(chunk, { stream: !atEnd }));
  }
  let bomLeft = form === "utf-8 with BOM" ? 3 : 0;
  return (chunk) => {
    const start = bomLeft;
    bomLeft = 0;
    return chunk.subarray(start);
  };
};

/** The same of a whole file that is in memory already. */
export const sliceBytes = (bytes: Buffer, bounds: SliceBounds): LineSlice | "binary" => {
  const form = sniff(bytes);
  if (form === "binary") return form;
  const slicer = createLineSlicer(bounds);
  slicer.push(createTranscoder(form)(bytes, true));
  return slicer.finish(true);
};

/**
 * A file from a byte on, as UTF-8 without its BOM, until `take` has enough; false where it is binary. `sizeBytes` is the
 * file's size by stat; `isAtEnd` says that nothing comes after the piece, `isBeforeSize` that something must.
 */
export const readText = async (
  fd: number,
  sizeBytes: number,
  take: (utf8: Buffer, isAtEnd: boolean, isBeforeSize: boolean) => "again" | "keep" | "enough",
  signal: AbortSignal | undefined,
  from = 0,
): Promise<boolean> => {
  // One byte over the size: a read that leaves it empty has seen the end, and needs no second read to know.
  let buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(SNIFF_BYTES, sizeBytes + 1)));
  let transcode: ReturnType<typeof createTranscoder> | undefined;
  for (let position = from; ; ) {
    const count = await readAt(fd, buffer, position);
    stopIfAborted(signal);
    position += count;
    const isAtEnd = count === 0 || (count < buffer.length && position >= sizeBytes);
    const chunk = buffer.subarray(0, count);
    if (transcode === undefined) {
      const form = sniff(chunk);
      if (form === "binary") return false;
      transcode = createTranscoder(form);
    }
    const next = take(transcode(chunk, isAtEnd), isAtEnd, position < sizeBytes);
    if (isAtEnd || next === "enough") return true;
    if (next === "keep") buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  }
};

/** A slice by lines, in bounded memory; stops once it is whole. `from` is for files without a BOM. */
export const readTextSlice = async (
  fd: number,
  sizeBytes: number,
  bounds: SliceBounds,
  signal: AbortSignal | undefined,
  from = 0,
): Promise<LineSlice | "binary"> => {
  const slicer = createLineSlicer(bounds);
  let hasEnded = false;
  const take = (utf8: Buffer, isAtEnd: boolean, isBeforeSize: boolean) => {
    const state = slicer.push(utf8);
    hasEnded = isAtEnd;
    if (state === "over" || (state === "done" && isBeforeSize)) return "enough";
    return state === "skipping" ? "again" : "keep";
  };
  return (await readText(fd, sizeBytes, take, signal, from)) ? slicer.finish(hasEnded) : "binary";
};
