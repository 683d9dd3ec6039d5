import type { LineSlice } from "./line-slicer.ts";
import { isWide, readTextSlice } from "./text-slice.ts";
import { findTail, surveyContent } from "./text-survey.ts";

export interface ReadRequest {
  readonly offsetLines: number;
  readonly maxLines: number;
  readonly maxBytes: number;
  /** The last lines instead of those after the offset. */
  readonly tailLines?: number | undefined;
  /** Hash and count the whole file too, for at most as many milliseconds. */
  readonly surveyMs?: number | undefined;
}

export interface ContentSlice extends LineSlice {
  /** First line of the slice, counted from 0. */
  readonly firstLine: number;
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

/** Reads what was asked for from an opened file, and surveys the whole where that was asked for too. */
export const readContent = async (
  fd: number,
  sizeBytes: number,
  { tailLines, surveyMs, ...bounds }: ReadRequest,
  signal: AbortSignal | undefined,
): Promise<ContentSlice | "binary"> => {
  const { slice, isWhole } =
    tailLines === undefined
      ? { slice: await readTextSlice(fd, sizeBytes, bounds, signal), isWhole: true }
      : await readTail(fd, sizeBytes, tailLines, bounds.maxBytes, signal);
  if (slice === "binary") return slice;
  const survey = surveyMs === undefined ? undefined : await surveyContent(fd, sizeBytes, surveyMs, signal);
  const known = isWhole ? slice.totalLines : undefined;
  const totalLines = known ?? survey?.totalLines;
  const firstLine =
    tailLines === undefined ? bounds.offsetLines : Math.max(0, (totalLines ?? 0) - slice.lines);
  return { ...slice, firstLine, totalLines, sha256: survey?.sha256 };
};
