import { z } from "zod";
import { showControls } from "../base/text.ts";
import type { CallContext } from "./contract.ts";
import { defineTool, type Ports } from "./tool.ts";

/** Enough for most source files in one call; a longer file is read on with `offset`. */
const DEFAULT_LINES = 1000;
/** Keeps one answer near 16k tokens even when lines are long. */
const MAX_BYTES = 65_536;

/** Handles can be read where linux_handle_read is not listed (REQ-D17). */
const HANDLE = "handle:";

const readHandle = async (
  id: string,
  { offset, limit }: { readonly offset: number; readonly limit: number },
  handles: Ports["handles"],
  { caller, signal }: CallContext,
) => {
  const slice = await handles.readLines(
    caller,
    id,
    { offsetLines: offset, maxLines: limit, maxBytes: MAX_BYTES },
    signal,
  );
  return {
    data: slice.info.kind === "output" ? showControls(slice.text) : slice.text,
    meta: {
      path: `${HANDLE}${id}`,
      length: slice.info.sizeBytes,
      truncated: slice.truncated,
      ...(slice.totalLines === undefined ? {} : { total_lines: slice.totalLines }),
      ...(slice.truncated ? { next_offset: slice.firstLine + slice.lines } : {}),
      ...(slice.stale ? { stale: true } : {}),
    },
  };
};

export const readFile = defineTool({
  name: "read_file",
  description: "Read a text file, or handle:ID, by lines.",
  effect: "read",
  input: z.strictObject({
    path: z.string().min(1),
    offset: z.int().min(0).max(2_000_000_000).default(0).describe("lines to skip"),
    limit: z.int().min(1).max(10_000).default(DEFAULT_LINES).describe("max lines"),
  }),
  output: z.object({
    data: z.string(),
    meta: z.object({
      path: z.string(),
      /** Size of the whole file in bytes. */
      length: z.int(),
      truncated: z.boolean(),
      total_lines: z.int().optional(),
      next_offset: z.int().optional(),
      /** A handle's source has changed since. */
      stale: z.boolean().optional(),
    }),
  }),
  run: async ({ path, offset, limit }, { files, handles }, call) => {
    if (path.startsWith(HANDLE))
      return readHandle(path.slice(HANDLE.length), { offset, limit }, handles, call);
    const slice = await files.readText(
      path,
      { offsetLines: offset, maxLines: limit, maxBytes: MAX_BYTES },
      call.signal,
    );
    return {
      data: slice.text,
      meta: {
        path: slice.path,
        length: slice.sizeBytes,
        truncated: slice.truncated,
        ...(slice.totalLines === undefined ? {} : { total_lines: slice.totalLines }),
        ...(slice.truncated ? { next_offset: slice.firstLine + slice.lines } : {}),
      },
    };
  },
  render: ({ data, meta }) => {
    if (meta.next_offset !== undefined) {
      return `${data}${data.endsWith("\n") ? "" : "\n"}[more: offset ${meta.next_offset}; file has ${meta.length} bytes]`;
    }
    if (data !== "") return data;
    return meta.total_lines === 0 || meta.length === 0
      ? "[empty file]"
      : `[no lines there: the file has ${meta.total_lines}]`;
  },
});
