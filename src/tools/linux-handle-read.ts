import { z } from "zod";
import { LlmcError } from "../base/error.ts";
import { showControls } from "../base/text.ts";
import { HANDLE_PAGE_BYTES, MAX_HANDLE_HITS, originOf, searchNote } from "./handle-page.ts";
import { nextPage } from "./next-page.ts";
import { defineTool } from "./tool.ts";

const MAX_BYTES = 65_536;

export const linuxHandleRead = defineTool({
  name: "linux_handle_read",
  description: "Read on in a large result by its handle, or search in it.",
  effect: "read",
  input: z.strictObject({
    handle: z.string().min(1).max(64),
    offset_lines: z.int().min(0).max(2_000_000_000).optional(),
    offset_bytes: z.int().min(0).optional(),
    max_lines: z.int().min(1).max(2000).optional(),
    chunk: z.int().min(0).max(2_000_000_000).optional().describe("64 KiB each, from 0"),
    pattern: z.string().min(1).optional().describe("regex: matching lines only"),
  }),
  output: z.object({
    content: z.string(),
    meta: z.object({
      handle: z.string(),
      kind: z.string(),
      path: z.string(),
      root: z.string(),
      /** Counted from 1. */
      first_line: z.int(),
      lines: z.int(),
      total_lines: z.int().optional(),
      /** Lines that match the pattern. */
      total_hits: z.int().optional(),
      truncated: z.boolean(),
      next_offset: z.int().optional(),
      next_offset_bytes: z.int().optional(),
      /** The source has changed since the handle was made. */
      stale: z.boolean(),
    }),
  }),
  run: async (
    { handle, offset_lines, offset_bytes, max_lines, chunk, pattern },
    { handles },
    { signal, caller },
  ) => {
    const isSliced = offset_lines !== undefined || max_lines !== undefined || offset_bytes !== undefined;
    if (chunk !== undefined && (isSliced || pattern !== undefined)) {
      throw new LlmcError("invalid_args", "Give either chunk, or offset_lines, max_lines and pattern.", {
        details: { field: "chunk" },
      });
    }
    const id = handle.replace(/^handle:/, "");
    const bounds = {
      offsetLines: offset_lines ?? 0,
      offsetBytes: offset_bytes,
      maxLines: max_lines ?? 2000,
      maxBytes: max_lines === undefined ? HANDLE_PAGE_BYTES : MAX_BYTES,
    };
    const query = { offsetLines: bounds.offsetLines, maxHits: max_lines ?? MAX_HANDLE_HITS };
    const slice =
      pattern !== undefined
        ? await handles.search(caller, id, { pattern, ...query }, signal)
        : chunk !== undefined
          ? await handles.readChunk(caller, id, chunk, signal)
          : await handles.readLines(caller, id, bounds, signal);
    return {
      content: slice.text,
      meta: {
        handle: slice.info.id,
        ...originOf(slice.info),
        first_line: slice.firstLine + 1,
        lines: slice.lines,
        ...(slice.totalLines === undefined ? {} : { total_lines: slice.totalLines }),
        ...(slice.totalHits === undefined ? {} : { total_hits: slice.totalHits }),
        truncated: slice.truncated,
        ...nextPage(slice),
        stale: slice.stale,
      },
    };
  },
  render: ({ content: stored, meta }) => {
    // Output of commands; what comes from files is data, and stays as it is.
    const content = meta.kind === "output" ? showControls(stored) : stored;
    const total = meta.total_hits === undefined ? meta.total_lines : meta.total_hits;
    const what = meta.total_hits === undefined ? "lines" : "hits";
    const more =
      meta.next_offset_bytes === undefined
        ? `offset_lines ${meta.next_offset}${total === undefined ? "" : ` of ${total} ${what}`}`
        : `offset_bytes ${meta.next_offset_bytes}`;
    const notes = [
      ...(meta.truncated ? [`more: ${more}`] : []),
      ...(meta.stale ? [`${meta.path} has changed since`] : []),
      ...(searchNote(meta) === "" ? [] : [searchNote(meta)]),
    ];
    const text = content === "" || content.endsWith("\n") || notes.length === 0 ? content : `${content}\n`;
    if (notes.length > 0) return `${text}[${notes.join("; ")}]`;
    return text || (meta.total_hits === undefined ? "[empty]" : "[no hits]");
  },
});
