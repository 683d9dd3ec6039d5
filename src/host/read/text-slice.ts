import { read } from "node:fs";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { createLineSlicer, type LineSlice, type SliceBounds } from "./line-slicer.ts";

const CHUNK_BYTES = 64 * 1024;
const SNIFF_BYTES = 8 * 1024;

export const readChunk = (fd: number, buffer: Buffer, position: number): Promise<number> =>
  new Promise((resolve, reject) => {
    read(fd, buffer, 0, buffer.length, position, (error, count) => (error ? reject(error) : resolve(count)));
  });

const startsWith = (head: Buffer, ...bytes: number[]): boolean => bytes.every((byte, i) => head[i] === byte);

type Form = "utf-8" | "utf-8 with BOM" | "utf-16le" | "utf-16be" | "binary";

export const sniff = (head: Buffer): Form => {
  if (startsWith(head, 0xef, 0xbb, 0xbf)) return "utf-8 with BOM";
  // Two NULs after it would mean UTF-32, which is not supported.
  if (startsWith(head, 0xff, 0xfe) && !startsWith(head, 0xff, 0xfe, 0, 0)) return "utf-16le";
  if (startsWith(head, 0xfe, 0xff)) return "utf-16be";
  return head.subarray(0, SNIFF_BYTES).includes(0) ? "binary" : "utf-8";
};

/** Two bytes to a letter: a newline cannot be found by its byte. */
export const isWide = async (fd: number): Promise<boolean> => {
  const head = Buffer.alloc(4);
  await readChunk(fd, head, 0);
  return sniff(head).startsWith("utf-16");
};

/** Turns a file, chunk by chunk, into UTF-8 without its BOM. */
export const createTranscoder = (form: Form): ((chunk: Buffer, atEnd: boolean) => Buffer) => {
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
 * A slice by lines, in chunks and bounded memory; stops once it is whole. `sizeBytes` is the file's size by stat;
 * `from` is the byte where the first line starts, for files without a BOM.
 */
export const readTextSlice = async (
  fd: number,
  sizeBytes: number,
  bounds: SliceBounds,
  signal: AbortSignal | undefined,
  from = 0,
): Promise<LineSlice | "binary"> => {
  const slicer = createLineSlicer(bounds);
  // One byte over the size: a read that leaves it empty has seen the end, and needs no second read to know.
  let buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(SNIFF_BYTES, sizeBytes + 1)));
  let transcode: ReturnType<typeof createTranscoder> | undefined;
  for (let position = from; ; ) {
    const count = await readChunk(fd, buffer, position);
    stopIfAborted(signal);
    position += count;
    const isAtEnd = count === 0 || (count < buffer.length && position >= sizeBytes);
    const chunk = buffer.subarray(0, count);
    if (transcode === undefined) {
      const form = sniff(chunk);
      if (form === "binary") return "binary";
      transcode = createTranscoder(form);
    }
    const state = slicer.push(transcode(chunk, isAtEnd));
    if (isAtEnd) return slicer.finish(true);
    if (state === "over" || (state === "done" && position < sizeBytes)) return slicer.finish(false);
    if (state !== "skipping") buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  }
};
