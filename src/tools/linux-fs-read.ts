import { z } from "zod";
import { sameSha, shaInput, shortSha } from "./sha.ts";
import { defineTool } from "./tool.ts";

/** Limits one answer to about 32k tokens, even if the maximum number of lines is requested. */
const MAX_BYTES = 131_072;
/** Counting and hashing a whole file stops here; the first lines are not held up by the size of the rest. */
const SURVEY_MS = 2000;
/** A file whose content is shorter than this costs less to send again than its hash. */
const WORTH_A_HASH_CHARS = 2000;

export const linuxFsRead = defineTool({
  name: "linux_fs_read",
  description: "Read lines of a text file.",
  effect: "read",
  input: z.strictObject({
    path: z.string().min(1),
    offset_lines: z.int().min(0).max(2_000_000_000).default(0),
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
      /** Line numbers are counted from 0, as offset_lines is. */
      first_line: z.int(),
      lines: z.int(),
      /** False where the file was too large to count: total_lines is then a lower bound. */
      total_is_exact: z.boolean(),
      sha256: z.string().optional(),
      unchanged: z.boolean().optional(),
    }),
  }),
  run: async (
    { path, offset_lines, max_lines, tail_lines, unless_sha256 },
    { files, handles },
    { signal, caller },
  ) => {
    const request = {
      offsetLines: offset_lines,
      maxLines: max_lines,
      maxBytes: MAX_BYTES,
      tailLines: tail_lines,
      surveyMs: SURVEY_MS,
    };
    const slice = await files.readText(path, request, signal);
    const unchanged =
      unless_sha256 !== undefined && slice.sha256 !== undefined && sameSha(unless_sha256, slice.sha256);
    const isPart = slice.truncated || slice.firstLine > 0;
    return {
      content: unchanged ? "" : slice.text,
      handle: isPart && !unchanged ? await handles.putFile(caller, path) : null,
      meta: {
        path: slice.path,
        total_lines: slice.totalLines ?? slice.firstLine + slice.lines,
        truncated: slice.truncated,
        first_line: slice.firstLine,
        lines: unchanged ? 0 : slice.lines,
        total_is_exact: slice.totalLines !== undefined,
        ...(slice.sha256 === undefined ? {} : { sha256: slice.sha256 }),
        ...(unchanged ? { unchanged } : {}),
      },
    };
  },
  render: ({ content, meta }) => {
    if (meta.unchanged) return "[unchanged]";
    if (content === "")
      return meta.total_lines === 0 ? "[empty file]" : `[no lines there: the file has ${meta.total_lines}]`;
    const hash =
      meta.sha256 !== undefined && content.length > WORTH_A_HASH_CHARS
        ? `sha256 ${shortSha(meta.sha256)}`
        : "";
    const total = meta.total_is_exact ? `${meta.total_lines}` : `over ${meta.total_lines}`;
    const range = meta.truncated
      ? `lines ${meta.first_line + 1}-${meta.first_line + meta.lines} of ${total}`
      : "";
    // The end of a file needs neither a note nor a hash: a tail is read to see what is new.
    const notes = [range, ...(meta.first_line === 0 ? [hash] : [])].filter((note) => note !== "");
    return notes.length === 0
      ? content
      : `${content}${content.endsWith("\n") ? "" : "\n"}[${notes.join("; ")}]`;
  },
});
