import { lstatSync } from "node:fs";
import { LlmcError } from "../../../base/error.ts";
import type { Files } from "../../read/files.ts";
import type { LineSlice } from "../../read/line-slicer.ts";
import { CHUNK_BYTES } from "./chunks.ts";

/** Tells a file from what it was or becomes, or undefined where there is nothing. For comparing, never for showing. */
export const versionOf = (realPath: string): string | undefined => {
  try {
    const { dev, ino, size, mtimeNs } = lstatSync(realPath, { bigint: true });
    return `${dev}:${ino}:${size}:${mtimeNs}`;
  } catch {
    return undefined;
  }
};

export const pastTheEnd = (chunk: number, totalBytes: number): LlmcError => {
  const count = Math.max(1, Math.ceil(totalBytes / CHUNK_BYTES));
  return new LlmcError(
    "invalid_args",
    `There is no chunk ${chunk}: this handle has ${count}, counted from 0.`,
    {
      hint: `Ask for a chunk up to ${count - 1}.`,
      details: { chunks: count },
    },
  );
};

/** Of a file's text that is taken at once. */
const PIECE_BYTES = 8 * 1024 * 1024;
/** Every line of a file. */
const ALL_LINES = { offsetLines: 0, maxLines: Number.MAX_SAFE_INTEGER };

/** One chunk of a file's text, read through the port that judges and decodes every read. */
export const readFileChunk = async (
  files: Pick<Files, "readText">,
  source: string,
  chunk: number,
  signal: AbortSignal | undefined,
): Promise<LineSlice> => {
  const bounds = { offsetBytes: chunk * CHUNK_BYTES, maxBytes: CHUNK_BYTES, isExact: true };
  const slice = await files.readText(source, { ...ALL_LINES, ...bounds }, signal);
  if (slice.text === "" && chunk > 0) throw pastTheEnd(chunk, slice.endByte);
  return slice;
};

/** A file's text in pieces, each with the byte that it ends at. */
export const fileText = async function* (
  files: Pick<Files, "readText">,
  source: string,
  signal?: AbortSignal,
): AsyncGenerator<Pick<LineSlice, "text" | "endByte">> {
  for (let offsetBytes = 0; ; ) {
    const slice = await files.readText(source, { ...ALL_LINES, offsetBytes, maxBytes: PIECE_BYTES }, signal);
    yield slice;
    if (!slice.truncated || slice.endByte === offsetBytes) return;
    offsetBytes = slice.endByte;
  }
};
