import { z } from "zod";
import { LlmcError, withHint } from "../base/error.ts";
import { showControls } from "../base/text.ts";
import type { CallContext } from "./contract.ts";
import { HANDLE_PAGE_BYTES, MAX_HANDLE_HITS, originOf, searchNote } from "./handle-page.ts";
import { nextPage } from "./next-page.ts";
import { sameSha, shaInput, shaNote } from "./sha.ts";
import { defineTool, type Ports } from "./tool.ts";

/** Enough for most source files in one call; a longer file is read on with `offset`. */
const DEFAULT_LINES = 1000;
/** Keeps one answer near 16k tokens even when lines are long. */
const MAX_BYTES = 65_536;
/** A file up to this size comes whole, in some 4,000 tokens; of a longer one, the first page is small. */
const WHOLE_BYTES = 16 * 1024;
/** Hashing a whole file stops here: what was asked for does not wait for the rest. */
const HASH_MS = 500;

/** Handles can be read where linux_handle_read is not listed (REQ-D17). */
const HANDLE = "handle:";

interface HandleRequest {
  readonly offset: number;
  readonly offset_bytes?: number | undefined;
  readonly limit?: number | undefined;
  readonly pattern?: string | undefined;
}

const readHandle = async (
  id: string,
  { offset, offset_bytes, limit, pattern }: HandleRequest,
  handles: Ports["handles"],
  { caller, signal }: CallContext,
) => {
  const bounds = {
    offsetLines: offset,
    offsetBytes: offset_bytes,
    maxLines: limit ?? DEFAULT_LINES,
    maxBytes: limit === undefined ? HANDLE_PAGE_BYTES : MAX_BYTES,
  };
  const query = { offsetLines: offset, maxHits: limit ?? MAX_HANDLE_HITS };
  const slice =
    pattern === undefined
      ? await handles.readLines(caller, id, bounds, signal)
      : await handles.search(caller, id, { pattern, ...query }, signal);
  const { kind, root } = originOf(slice.info);
  return {
    data: kind === "output" ? showControls(slice.text) : slice.text,
    meta: {
      path: `${HANDLE}${id}`,
      kind,
      root,
      length: slice.info.sizeBytes,
      truncated: slice.truncated,
      ...(slice.totalLines === undefined ? {} : { total_lines: slice.totalLines }),
      ...(slice.totalHits === undefined ? {} : { total_hits: slice.totalHits }),
      ...nextPage(slice),
      ...(slice.stale ? { stale: true } : {}),
    },
  };
};

/**
 * Bytes of a page. Who reads on or says how many lines knows what the file is, and gets large pages; a line that goes on is
 * hardly ever wanted whole.
 */
const pageBytes = async (
  path: string,
  { offset, offset_bytes, limit }: HandleRequest,
  files: Ports["files"],
  signal: AbortSignal,
): Promise<number> => {
  if (offset_bytes !== undefined) return HANDLE_PAGE_BYTES;
  if (limit !== undefined || offset > 0) return MAX_BYTES;
  const { size } = await files.stat(path, signal);
  return size <= WHOLE_BYTES ? WHOLE_BYTES : HANDLE_PAGE_BYTES;
};

/** A page of a stub, which is generated and not on the disk. */
const readStub = (path: string, text: string, { offset, limit = DEFAULT_LINES }: HandleRequest) => {
  const lines = text.replace(/\n$/, "").split("\n");
  const page = lines.slice(offset, offset + limit);
  const end = offset + page.length;
  const truncated = end < lines.length;
  return {
    data: page.map((line) => `${line}\n`).join(""),
    meta: {
      path,
      length: Buffer.byteLength(text),
      truncated,
      total_lines: lines.length,
      ...(truncated ? { next_offset: end } : {}),
    },
  };
};

const patternOfFile = (): LlmcError =>
  new LlmcError("invalid_args", "A pattern is for handles; this is a file.", {
    hint: `Use linux_search_content, or rg with run_cmd. A handle is written ${HANDLE}ID.`,
    details: { field: "pattern" },
  });

const HANDLE_ID = /^h_[a-z2-9]{12}$/;

/** Handles are shown as `handle:ID`, and asked for without the first part. */
const explainMissing = (error: unknown, path: string): unknown =>
  error instanceof LlmcError && error.code === "file_not_found" && HANDLE_ID.test(path)
    ? withHint(error, `A handle is written ${HANDLE}${path}`)
    : error;

export const readFile = defineTool({
  name: "read_file",
  description: "Read a text file, or handle:ID, by lines.",
  effect: "read",
  pathArgument: "path",
  input: z.strictObject({
    path: z.string().min(1),
    offset: z.int().min(0).max(2_000_000_000).default(0).describe("lines to skip"),
    offset_bytes: z.int().min(0).optional(),
    limit: z.int().min(1).max(10_000).optional().describe("max lines"),
    unless_sha256: shaInput.optional().describe("answer only if changed"),
    pattern: z.string().min(1).optional().describe("regex, in handles"),
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
      /** Where a line goes on that is too long for one answer. */
      next_offset_bytes: z.int().optional(),
      /** Of the whole file. */
      sha256: z.string().optional(),
      unchanged: z.boolean().optional(),
      kind: z.string().optional(),
      root: z.string().optional(),
      /** Lines of a handle that match the pattern. */
      total_hits: z.int().optional(),
      /** A handle's source has changed since. */
      stale: z.boolean().optional(),
    }),
  }),
  run: async (
    { path, offset, offset_bytes, limit, unless_sha256, pattern },
    { files, handles, server },
    call,
  ) => {
    if (path.startsWith(HANDLE))
      return readHandle(path.slice(HANDLE.length), { offset, offset_bytes, limit, pattern }, handles, call);
    if (pattern !== undefined) throw patternOfFile();
    const stubPath = server.stubs.pathOf(path);
    if (stubPath !== undefined)
      return readStub(path, await server.stubs.read(stubPath, call.caller), { offset, limit });
    const request = {
      offsetLines: offset,
      offsetBytes: offset_bytes,
      maxLines: limit ?? DEFAULT_LINES,
      surveyMs: HASH_MS,
    };
    const slice = await pageBytes(path, { offset, offset_bytes, limit }, files, call.signal)
      .then((maxBytes) => files.readText(path, { ...request, maxBytes }, call.signal))
      .catch((error: unknown) => {
        throw explainMissing(error, path);
      });
    const { sha256 } = slice;
    const unchanged = unless_sha256 !== undefined && sha256 !== undefined && sameSha(unless_sha256, sha256);
    return {
      data: unchanged ? "" : slice.text,
      meta: {
        path: slice.path,
        length: slice.sizeBytes,
        truncated: slice.truncated,
        ...(slice.totalLines === undefined ? {} : { total_lines: slice.totalLines }),
        ...(sha256 === undefined ? {} : { sha256 }),
        ...(unchanged ? { unchanged } : nextPage(slice)),
      },
    };
  },
  render: ({ data, meta }) => {
    if (meta.unchanged) return "[unchanged]";
    const stale = meta.stale ? "the source has changed since" : "";
    if (data === "" && meta.total_hits !== undefined)
      return ["[no hits]", ...(searchNote(meta) === "" ? [] : [`[${searchNote(meta)}]`])].join("\n");
    if (data === "")
      return meta.total_lines === 0 || meta.length === 0
        ? "[empty file]"
        : `[no lines there: the file has ${meta.total_lines}]`;
    const next =
      meta.next_offset_bytes === undefined
        ? `offset ${meta.next_offset}`
        : `this line goes on at offset_bytes ${meta.next_offset_bytes}`;
    const size =
      meta.total_hits !== undefined
        ? `${meta.total_hits} hits`
        : `${meta.kind ?? "file"} has ${meta.length} bytes`;
    const isMore = meta.next_offset !== undefined || meta.next_offset_bytes !== undefined;
    const notes = [
      isMore ? `more: ${next}; ${size}` : shaNote(data, meta.sha256),
      stale,
      searchNote(meta),
    ].filter((note) => note !== "");
    return notes.length === 0 ? data : `${data}${data.endsWith("\n") ? "" : "\n"}[${notes.join("; ")}]`;
  },
});
