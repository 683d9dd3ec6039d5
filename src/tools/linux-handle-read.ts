import { z } from "zod";
import { LlmcError } from "../base/error.ts";
import { showControls } from "../base/text.ts";
import { defineTool } from "./tool.ts";

const MAX_BYTES = 65_536;

export const linuxHandleRead = defineTool({
  name: "linux_handle_read",
  description: "Read on in a large result by its handle.",
  effect: "read",
  input: z.strictObject({
    handle: z.string().min(1).max(64),
    offset_lines: z.int().min(0).max(2_000_000_000).optional(),
    max_lines: z.int().min(1).max(2000).optional(),
    chunk: z.int().min(0).max(2_000_000_000).optional().describe("64 KiB each, from 0"),
  }),
  output: z.object({
    content: z.string(),
    meta: z.object({
      handle: z.string(),
      kind: z.string(),
      source: z.string(),
      first_line: z.int(),
      lines: z.int(),
      total_lines: z.int().optional(),
      truncated: z.boolean(),
      /** The source has changed since the handle was made. */
      stale: z.boolean(),
    }),
  }),
  run: async ({ handle, offset_lines, max_lines, chunk }, { handles }, { signal, caller }) => {
    if (chunk !== undefined && (offset_lines !== undefined || max_lines !== undefined)) {
      throw new LlmcError("invalid_args", "Give either chunk, or offset_lines and max_lines.", {
        details: { field: "chunk" },
      });
    }
    const id = handle.replace(/^handle:/, "");
    const slice =
      chunk === undefined
        ? await handles.readLines(
            caller,
            id,
            { offsetLines: offset_lines ?? 0, maxLines: max_lines ?? 200, maxBytes: MAX_BYTES },
            signal,
          )
        : await handles.readChunk(caller, id, chunk, signal);
    return {
      content: slice.text,
      meta: {
        handle: slice.info.id,
        kind: slice.info.kind,
        source: slice.info.source,
        first_line: slice.firstLine,
        lines: slice.lines,
        ...(slice.totalLines === undefined ? {} : { total_lines: slice.totalLines }),
        truncated: slice.truncated,
        stale: slice.stale,
      },
    };
  },
  render: ({ content: stored, meta }) => {
    // Output of commands; what comes from files is data, and stays as it is.
    const content = meta.kind === "output" ? showControls(stored) : stored;
    const notes = [
      ...(meta.truncated
        ? [
            `more: offset ${meta.first_line + meta.lines}${meta.total_lines === undefined ? "" : ` of ${meta.total_lines} lines`}`,
          ]
        : []),
      ...(meta.stale ? [`${meta.source} has changed since`] : []),
    ];
    const text = content === "" || content.endsWith("\n") || notes.length === 0 ? content : `${content}\n`;
    return notes.length === 0 ? text || "[empty]" : `${text}[${notes.join("; ")}]`;
  },
});
