import { z } from "zod";
import { nextPage } from "./next-page.ts";
import { sameSha, shaInput, shaNote } from "./sha.ts";
import { defineTool } from "./tool.ts";

/** Limits one answer to about 32k tokens, even if the maximum number of lines is requested. */
const MAX_BYTES = 131_072;
/** Counting and hashing a whole file stops here; the first lines are not held up by the size of the rest. */
const SURVEY_MS = 2000;

export const linuxFsRead = defineTool({
  name: "linux_fs_read",
  description: "Read lines of a text file.",
  effect: "read",
  pathArgument: "path",
  input: z.strictObject({
    path: z.string().min(1),
    offset_lines: z.int().min(0).max(2_000_000_000).default(0),
    offset_bytes: z.int().min(0).optional(),
    max_lines: z.int().min(1).max(2000).default(200),
    tail_lines: z.int().min(1).max(2000).optional().describe("the last lines instead"),
    unless_sha256: shaInput.optional().describe("answer only if changed"),
  }),
  output: z.object({
    content: z.string(),
    handle: z.string().nullable(),
    meta: z.object({
      path: z.string(),
      total_lines: z.int(),
      truncated: z.boolean(),
      /** Counted from 1. */
      first_line: z.int(),
      lines: z.int(),
      /** Where a line goes on that is too long for one answer. */
      next_offset_bytes: z.int().optional(),
      /** False where the file was too large to count: total_lines is then a lower bound. */
      total_is_exact: z.boolean(),
      sha256: z.string().optional(),
      unchanged: z.boolean().optional(),
    }),
  }),
  run: async (
    { path, offset_lines, offset_bytes, max_lines, tail_lines, unless_sha256 },
    { files, handles },
    { signal, caller },
  ) => {
    const request = {
      offsetLines: offset_lines,
      offsetBytes: offset_bytes,
      maxLines: max_lines,
      maxBytes: MAX_BYTES,
      tailLines: tail_lines,
      surveyMs: SURVEY_MS,
    };
    const slice = await files.readText(path, request, signal);
    const unchanged =
      unless_sha256 !== undefined && slice.sha256 !== undefined && sameSha(unless_sha256, slice.sha256);
    const isPart = slice.truncated || slice.firstLine > 0 || offset_bytes !== undefined;
    const { next_offset_bytes } = nextPage(slice);
    return {
      content: unchanged ? "" : slice.text,
      handle: isPart && !unchanged ? await handles.putFile(caller, path) : null,
      meta: {
        path: slice.path,
        total_lines: slice.totalLines ?? slice.firstLine + slice.lines,
        truncated: slice.truncated,
        first_line: slice.firstLine + 1,
        lines: unchanged ? 0 : slice.lines,
        total_is_exact: slice.totalLines !== undefined,
        ...(slice.sha256 === undefined ? {} : { sha256: slice.sha256 }),
        ...(unchanged ? { unchanged } : {}),
        ...(next_offset_bytes === undefined || unchanged ? {} : { next_offset_bytes }),
      },
    };
  },
  render: ({ content, meta }) => {
    if (meta.unchanged) return "[unchanged]";
    if (content === "")
      return meta.total_lines === 0 ? "[empty file]" : `[no lines there: the file has ${meta.total_lines}]`;
    const total = meta.total_is_exact ? `${meta.total_lines}` : `over ${meta.total_lines}`;
    const range = meta.truncated
      ? `lines ${meta.first_line}-${meta.first_line + meta.lines - 1} of ${total}`
      : "";
    const more =
      meta.next_offset_bytes === undefined
        ? range
        : `more of this line: offset_bytes ${meta.next_offset_bytes}`;
    // The end of a file needs neither a note nor a hash: a tail is read to see what is new.
    const notes = [more, ...(meta.first_line === 1 ? [shaNote(content, meta.sha256)] : [])].filter(
      (note) => note !== "",
    );
    return notes.length === 0
      ? content
      : `${content}${content.endsWith("\n") ? "" : "\n"}[${notes.join("; ")}]`;
  },
});
