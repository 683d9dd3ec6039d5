import { hash } from "node:crypto";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { readAt } from "../reach/descriptor.ts";
import type { LineSlice } from "./line-slicer.ts";
import { isWide, readTextSlice, sliceBytes } from "./text-slice.ts";
import { findTail, surveyContent } from "./text-survey.ts";

export interface ReadRequest {
  readonly offsetLines: number;
  /** Bytes of the text to skip; see `SliceBounds`. */
  readonly offsetBytes?: number | undefined;
  readonly maxLines: number;
  readonly maxBytes: number;
  readonly isExact?: boolean | undefined;
  /** The last lines instead of those after the offset. */
  readonly tailLines?: number | undefined;
  /** Hash and count the whole file too, for at most as many milliseconds. */
  readonly surveyMs?: number | undefined;
}

export interface ContentSlice extends LineSlice {
  readonly sha256: string | undefined;
}

/** More lines than any file has: reading on to the end counts them. */
const PAST_THE_END = { offsetLines: Number.MAX_SAFE_INTEGER, maxLines: 1, maxBytes: 1 };

/** The last lines. Found from the end where a newline is one byte, by counting them all where it is two. */
const readTail = async (
  fd: number,
  sizeBytes: number,
  tailLines: number,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<{ readonly slice: LineSlice | "binary"; readonly isWhole: boolean }> => {
  if (await isWide(fd)) {
    const counted = await readTextSlice(fd, sizeBytes, PAST_THE_END, signal);
    const offsetLines = Math.max(0, (counted === "binary" ? 0 : (counted.totalLines ?? 0)) - tailLines);
    const slice = await readTextSlice(fd, sizeBytes, { offsetLines, maxLines: tailLines, maxBytes }, signal);
    return { slice, isWhole: true };
  }
  const from = await findTail(fd, sizeBytes, tailLines, maxBytes, signal);
  const slice = await readTextSlice(
    fd,
    sizeBytes,
    { offsetLines: 0, maxLines: tailLines, maxBytes },
    signal,
    from,
  );
  return { slice, isWhole: from === 0 };
};

/** So small that one read of the whole is cheaper than one for the slice and another for the survey. */
const MAX_WHOLE_BYTES = 256 * 1024;

/** The whole file in one read; undefined where it has grown meanwhile. */
const readWhole = async (
  fd: number,
  sizeBytes: number,
  signal: AbortSignal | undefined,
): Promise<Buffer | undefined> => {
  // One byte over the size: a read that leaves it empty has seen the end.
  const buffer = Buffer.allocUnsafe(sizeBytes + 1);
  const count = await readAt(fd, buffer, 0);
  stopIfAborted(signal);
  return count === sizeBytes ? buffer.subarray(0, count) : undefined;
};

/** Whether the request is for all of the file: then one buffer and one decoding are enough, however large it is. */
const wantsAll = ({ offsetLines, offsetBytes = 0, maxLines, maxBytes }: ReadRequest, sizeBytes: number) =>
  offsetLines === 0 && offsetBytes === 0 && maxLines === Number.MAX_SAFE_INTEGER && sizeBytes <= maxBytes;

/** The whole file in one buffer, whose memory is given back at once and not when it is collected. */
const readAll = async (
  fd: number,
  sizeBytes: number,
  bounds: ReadRequest,
  signal: AbortSignal | undefined,
): Promise<ContentSlice | "binary" | undefined> => {
  const bytes = await readWhole(fd, sizeBytes, signal);
  if (bytes === undefined) return undefined;
  const slice = sliceBytes(bytes, bounds);
  if (bytes.byteLength + 1 === bytes.buffer.byteLength) (bytes.buffer as ArrayBuffer).transfer(0);
  return slice === "binary" ? slice : { ...slice, sha256: undefined };
};

/** Reads what was asked for from an opened file, and surveys the whole where that was asked for too. */
export const readContent = async (
  fd: number,
  sizeBytes: number,
  request: ReadRequest,
  signal: AbortSignal | undefined,
): Promise<ContentSlice | "binary"> => {
  const { tailLines, surveyMs, ...bounds } = request;
  if (tailLines === undefined && surveyMs === undefined && wantsAll(request, sizeBytes)) {
    const all = await readAll(fd, sizeBytes, bounds, signal);
    if (all !== undefined) return all;
  }
  if (tailLines === undefined && surveyMs !== undefined && sizeBytes <= MAX_WHOLE_BYTES) {
    const bytes = await readWhole(fd, sizeBytes, signal);
    const slice = bytes === undefined ? undefined : sliceBytes(bytes, bounds);
    if (slice === "binary") return slice;
    if (bytes !== undefined && slice !== undefined) return { ...slice, sha256: hash("sha256", bytes) };
  }
  const { slice, isWhole } =
    tailLines === undefined
      ? { slice: await readTextSlice(fd, sizeBytes, bounds, signal), isWhole: true }
      : await readTail(fd, sizeBytes, tailLines, bounds.maxBytes, signal);
  if (slice === "binary") return slice;
  const survey = surveyMs === undefined ? undefined : await surveyContent(fd, sizeBytes, surveyMs, signal);
  const known = isWhole ? slice.totalLines : undefined;
  const totalLines = known ?? survey?.totalLines;
  const firstLine = tailLines === undefined ? slice.firstLine : Math.max(0, (totalLines ?? 0) - slice.lines);
  return { ...slice, firstLine, totalLines, sha256: survey?.sha256 };
};
