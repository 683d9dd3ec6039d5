import { countLines } from "../../../base/utf8.ts";
import type { LineSlice, SliceBounds } from "../../read/line-slicer.ts";
import type { Database } from "../database/database.ts";
import { CHUNK_BYTES } from "./chunks.ts";
import { pastTheEnd } from "./file.ts";
import { type Renderer, renderLines } from "./render.ts";
import type { HandleRow, HandleStore } from "./store.ts";

/** Reads stored payloads; undefined where the handle has gone meanwhile. */
export interface PayloadReader {
  lines(row: HandleRow, bounds: SliceBounds, signal?: AbortSignal): Promise<LineSlice | undefined>;
  chunk(row: HandleRow, n: number, signal?: AbortSignal): Promise<LineSlice | undefined>;
}

// A chunk of short lines can grow much when it is rendered; whoever wants less asks by lines.
const MAX_RENDERED_BYTES = 256 * CHUNK_BYTES;

export const createPayloadReader = (
  state: Database,
  store: HandleStore,
  renderers: Readonly<Record<string, Renderer | undefined>>,
): PayloadReader => {
  /** One view of the database, in which the handle still leads to its payload. */
  const readPayload = <T>({ id, principal, blob }: HandleRow, work: (blob: number) => T): T | undefined =>
    state.read(() => (blob === null || store.handle(principal, id)?.blob !== blob ? undefined : work(blob)));

  const render = async (
    row: HandleRow,
    slice: LineSlice,
    maxBytes: number,
    signal: AbortSignal | undefined,
  ): Promise<LineSlice> => {
    const renderer = renderers[row.kind];
    if (renderer === undefined || slice.lines === 0) return slice;
    const lines = slice.text.replace(/\n$/, "").split("\n");
    // The line that says that the rest was dropped is ours, not the renderer's.
    const hasNotice = row.is_cut === 1 && slice.firstLine + lines.length === row.lines;
    const notice = hasNotice ? lines.pop() : undefined;
    const rendered = await renderLines(lines, maxBytes, renderer, signal);
    if (rendered.lines < lines.length) return { ...slice, ...rendered, truncated: true };
    if (notice === undefined) return { ...slice, ...rendered };
    return { ...slice, text: `${rendered.text}${notice}\n`, lines: rendered.lines + 1 };
  };

  const readLines: PayloadReader["lines"] = async (row, bounds, signal) => {
    const slice = readPayload(row, (blob) => store.lines(blob, bounds));
    if (slice === undefined) return undefined;
    const whole = { ...slice, totalLines: row.lines ?? undefined };
    return render(row, whole, bounds.maxBytes, signal);
  };

  return {
    lines: readLines,
    chunk: async (row, n, signal) => {
      const found = readPayload(row, (blob) => ({
        chunk: store.chunk(blob, n),
        next: store.startsBefore(blob, n + 1),
      }));
      if (found === undefined) return undefined;
      const { chunk, next } = found;
      const totalLines = row.lines ?? 0;
      if (chunk === undefined) {
        if (n > 0 || (row.bytes ?? 0) > 0) throw pastTheEnd(n, row.bytes ?? 0);
        return { text: "", firstLine: 0, lines: 0, totalLines, truncated: false, endByte: 0 };
      }
      const truncated = next !== undefined;
      if (renderers[row.kind] === undefined) {
        const { bytes, newlinesBefore } = chunk;
        return {
          text: bytes.toString(),
          firstLine: newlinesBefore,
          lines: countLines(bytes),
          totalLines,
          truncated,
          endByte: n * CHUNK_BYTES + bytes.length,
        };
      }
      // A line that a border cuts belongs to the chunk that it starts in, like a character.
      const offsetLines = chunk.startsBefore;
      const maxLines = (next ?? totalLines) - offsetLines;
      return readLines(row, { offsetLines, maxLines, maxBytes: MAX_RENDERED_BYTES }, signal);
    },
  };
};
