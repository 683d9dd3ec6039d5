import { createHash } from "node:crypto";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { countNewlines, NEWLINE } from "../../base/utf8.ts";
import { readAt } from "../reach/descriptor.ts";

const BLOCK_BYTES = 1024 * 1024;
const SMALL_BLOCK_BYTES = 8 * 1024;

/** What is known of a whole file after one pass over it. */
export interface Survey {
  readonly sha256: string;
  /** Lines by newline bytes: right for UTF-8 and single-byte encodings. */
  readonly totalLines: number;
}

const readBlock = async (fd: number, buffer: Buffer, position: number): Promise<Buffer> =>
  buffer.subarray(0, await readAt(fd, buffer, position));

/** Hashes and counts a file in bounded memory; undefined when that takes longer than the budget. */
export const surveyContent = async (
  fd: number,
  sizeBytes: number,
  budgetMs: number,
  signal: AbortSignal | undefined,
): Promise<Survey | undefined> => {
  const deadline = performance.now() + budgetMs;
  const hash = createHash("sha256");
  // One byte over the size: a read that leaves it empty has seen the end. A large block for a small file is costly.
  const buffer = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, Math.max(SMALL_BLOCK_BYTES, sizeBytes + 1)));
  let newlines = 0;
  let last = NEWLINE;
  for (let position = 0; ; ) {
    const block = await readBlock(fd, buffer, position);
    stopIfAborted(signal);
    if (block.length === 0) break;
    if (performance.now() > deadline) return undefined;
    hash.update(block);
    newlines += countNewlines(block);
    last = block.at(-1) ?? last;
    position += block.length;
    if (block.length < buffer.length && position >= sizeBytes) break;
  }
  return { sha256: hash.digest("hex"), totalLines: newlines + (last === NEWLINE ? 0 : 1) };
};

/** Where the last lines of a file start, as a byte position; looks back no further than `maxBytes`. */
export const findTail = async (
  fd: number,
  sizeBytes: number,
  lines: number,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<number> => {
  const buffer = Buffer.allocUnsafe(64 * 1024);
  const earliest = Math.max(0, sizeBytes - maxBytes);
  // The newline at the very end closes the last line; it does not start another.
  let wanted = lines + 1;
  let end = sizeBytes;
  let oldestStart = earliest === 0 ? 0 : sizeBytes;
  let isLastByte = true;
  while (end > earliest) {
    const start = Math.max(earliest, end - buffer.length);
    const block = (await readBlock(fd, buffer.subarray(0, end - start), start)).subarray(0, end - start);
    stopIfAborted(signal);
    if (isLastByte && block.at(-1) !== NEWLINE) wanted--;
    isLastByte = false;
    for (
      let at = block.lastIndexOf(NEWLINE);
      at >= 0;
      at = at === 0 ? -1 : block.lastIndexOf(NEWLINE, at - 1)
    ) {
      wanted--;
      if (wanted === 0) return start + at + 1;
      if (start + at + 1 < sizeBytes) oldestStart = start + at + 1;
    }
    end = start;
  }
  // Fewer lines than asked for: all of them; or lines so long that only some fit: those that are whole.
  return earliest === 0 ? 0 : oldestStart;
};
