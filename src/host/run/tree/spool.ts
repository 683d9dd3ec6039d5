import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { BLOCK_BYTES, createOutputRing } from "./output-ring.ts";

export interface SpoolLimits {
  readonly headBytes: number;
  /** On disk; the rest is counted and dropped. */
  readonly keptBytes: number;
}

const TAIL_BYTES = 65_536;
const READ_BYTES = 262_144;
/** An endless line is cut here, so that it never has to be kept in memory. */
const MAX_LINE_CHARS = 1_048_576;
const NEWLINE = 0x0a;
/** Of the beginning, which is looked at line by line and in one go: millions of short lines would take seconds. */
const MAX_HEAD_LINES = 50_000;

/** The length of the first `max` lines, or of all; and how many they are. */
const firstLines = (bytes: Buffer, max: number): { readonly length: number; readonly lines: number } => {
  let [length, lines] = [0, 0];
  while (lines < max) {
    const end = bytes.indexOf(NEWLINE, length);
    if (end < 0) return { length: bytes.length, lines };
    length = end + 1;
    lines++;
  }
  return { length, lines };
};

/** A file that has no name any more: it goes with the process, however that ends. */
export const openNameless = (): number => {
  const folder = mkdtempSync(join(tmpdir(), "llmc-output-"));
  try {
    return openSync(join(folder, "output"), "wx+", 0o600);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const writeWhole = (fd: number, bytes: Buffer): void => {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
};

/** The first bytes, in one buffer that grows by doubling: many small pieces cost no more than a few large ones. */
const createHead = (maxBytes: number) => {
  let buffer = Buffer.alloc(0);
  let used = 0;
  let linesLeft = MAX_HEAD_LINES;
  return {
    /** How many of the bytes it took. */
    push: (chunk: Buffer): number => {
      const { length: taken, lines } = firstLines(chunk.subarray(0, maxBytes - used), linesLeft);
      linesLeft -= lines;
      if (taken <= 0) return 0;
      if (used + taken > buffer.length) {
        const larger = Buffer.alloc(Math.min(maxBytes, Math.max(4096, 2 * (used + taken))));
        buffer.copy(larger, 0, 0, used);
        buffer = larger;
      }
      chunk.copy(buffer, used, 0, taken);
      used += taken;
      return taken;
    },
    bytes: (): Buffer => buffer.subarray(0, used),
    size: (): number => used,
  };
};

/** One stream of a command's output: its beginning and end in memory, the whole in a file, all of it bounded. */
export type Spool = ReturnType<typeof createSpool>;

export const createSpool = ({ headBytes, keptBytes }: SpoolLimits) => {
  const head = createHead(headBytes);
  const tail = createOutputRing(TAIL_BYTES + BLOCK_BYTES);
  let total = 0;
  let fd: number | undefined;
  let onDisk = 0;
  let isDiskUsable = true;

  /** If the disk is full or missing, output is lost, but the command does not fail. */
  const keep = (chunk: Buffer): void => {
    const part = chunk.subarray(0, Math.max(0, keptBytes - head.size() - onDisk));
    if (!isDiskUsable || part.length === 0) return;
    try {
      fd ??= openNameless();
      writeWhole(fd, part);
      onDisk += part.length;
    } catch {
      isDiskUsable = false;
    }
  };

  const tailBytes = (): Buffer => {
    const beyond = total - head.size();
    if (beyond === 0) return Buffer.alloc(0);
    const last = tail.from(tail.end - TAIL_BYTES);
    if (last.length === beyond) return last;
    const lineEnd = last.indexOf(NEWLINE);
    return lineEnd >= 0 && lineEnd < last.length - 1 ? last.subarray(lineEnd + 1) : last;
  };

  function* pieces(): Generator<Buffer> {
    yield head.bytes();
    const buffer = Buffer.alloc(fd === undefined ? 0 : READ_BYTES);
    for (let at = 0; fd !== undefined && at < onDisk; ) {
      const got = readSync(fd, buffer, 0, Math.min(READ_BYTES, onDisk - at), at);
      if (got === 0) return;
      at += got;
      yield buffer.subarray(0, got);
    }
  }

  function* keptLines(): Generator<string> {
    const decoder = new StringDecoder("utf8");
    let rest = "";
    for (const piece of pieces()) {
      const lines = (rest + decoder.write(piece)).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
      for (; rest.length > MAX_LINE_CHARS; rest = rest.slice(MAX_LINE_CHARS))
        yield rest.slice(0, MAX_LINE_CHARS);
    }
    rest += decoder.end();
    if (rest !== "") yield rest;
  }

  const missing = (): number => total - head.size() - onDisk;

  return {
    get totalBytes() {
      return total;
    },
    /** The middle of the output was dropped, because there was more than is kept. */
    get isCut() {
      return missing() > 0;
    },
    write: (chunk: Buffer): void => {
      total += chunk.length;
      const taken = head.push(chunk);
      if (taken === chunk.length) return;
      const beyond = chunk.subarray(taken);
      tail.push(beyond);
      keep(beyond);
    },
    head: head.bytes,
    /** What came last and is not in the head; whole lines where there are any. */
    tail: tailBytes,
    /** All that was kept, line by line, without holding it; the end stands behind what is missing. */
    *lines() {
      yield* keptLines();
      if (missing() === 0) return;
      const last = tailBytes().subarray(-missing());
      yield `[${missing() - last.length} bytes were not kept; the end:]`;
      yield* last.toString("utf8").replace(/\n$/, "").split("\n");
    },
    close: (): void => {
      if (fd !== undefined) closeSync(fd);
      fd = undefined;
      onDisk = 0;
    },
  };
};
