import { posix } from "node:path";
import { LlmcError } from "../../../base/error.ts";
import type { ErrorCode } from "../../../base/error-table.ts";
import { stopIfAborted } from "../../../base/stop-if-aborted.ts";
import { quoteForMessage } from "../../../base/text.ts";
import { shownPath } from "../../../policy/paths.ts";
import { createOwners } from "../../os/process-owner.ts";
import { randomId } from "../../os/random-id.ts";
import type { Files } from "../../read/files.ts";
import type { LineSlice, SliceBounds } from "../../read/line-slicer.ts";
import type {
  HandleInfo,
  HandleKind,
  HandleOwner,
  HandleQuery,
  HandleSlice,
  Handles,
  HandlesOptions,
} from "./contract.ts";
import { fileText, readFileChunk, versionOf } from "./file.ts";
import { storeLines } from "./put.ts";
import { createPayloadReader, type PayloadReader } from "./read.ts";
import { chunksOf, inSearchText, showHits } from "./search.ts";
import { createHandleStore, type HandleRow, type HandleStore } from "./store.ts";
import { createSweeper, type Sweeper } from "./sweep.ts";

export type { HandleOwner, Handles, HandlesOptions } from "./contract.ts";

/** 60 random bits, so that it cannot be guessed. */
export const newHandleId = (): string => randomId("h_", 12);

/** Room for the line that says that the rest was dropped. */
const NOTICE_BYTES = 256;

/** The decoded text is larger than the file, as with other encodings. */
class TooLarge extends Error {}

const maxBytesOf = ({ limits }: HandlesOptions): number => {
  const { maxBytesEach, maxTotalBytes } = limits();
  return Math.min(maxBytesEach, maxTotalBytes);
};

const ONE_BYTE = { offsetLines: 0, maxLines: 1, maxBytes: 1 };

const HARMLESS: ReadonlySet<ErrorCode> = new Set(["file_not_found", "not_a_directory", "invalid_args"]);

const notFound = (id: string): LlmcError =>
  new LlmcError("handle_not_found", `There is no handle ${quoteForMessage(id)}, or it has expired.`, {
    hint: "Repeat the call that made it.",
  });

const infoOf = (row: HandleRow): HandleInfo => ({
  id: row.id,
  kind: row.kind as HandleKind,
  source: row.source,
  createdAt: new Date(row.created),
  expiresAt: new Date(row.expires),
  sizeBytes: row.bytes ?? 0,
});

/** Everything that the port works with. */
interface Parts {
  readonly options: HandlesOptions;
  readonly store: HandleStore;
  readonly sweeper: Sweeper;
}

const realPathOf = ({ workspace }: HandlesOptions, source: string): string =>
  posix.resolve(workspace, source);

const find = ({ options: { state }, store }: Parts, { principal }: HandleOwner, id: string): HandleRow => {
  const row = state.exists() ? state.read(() => store.handle(principal, id)) : undefined;
  if (row === undefined) throw notFound(id);
  return row;
};

const sliceOf = (options: HandlesOptions, row: HandleRow, slice: LineSlice): HandleSlice => ({
  info: infoOf(row),
  text: slice.text,
  firstLine: slice.firstLine,
  lines: slice.lines,
  totalLines: slice.totalLines,
  truncated: slice.truncated,
  endByte: slice.endByte,
  stale: row.file_version !== null && versionOf(realPathOf(options, row.source)) !== row.file_version,
});

/** Checks that the caller may read the source of a payload now, whatever was allowed when it was stored. */
const checkSource = async (
  files: Files,
  { kind, source }: HandleRow,
  signal: AbortSignal | undefined,
): Promise<void> => {
  // Output of a command, which was checked when it ran.
  if (kind === "output") return;
  try {
    const { type } = await files.stat(source, signal);
    // The denylist withholds content and not names, so only a read asks it.
    if (type === "file" && kind !== "fs_list") await files.readText(source, ONE_BYTE, signal);
  } catch (error) {
    // What is gone was inside the roots, or it would have been refused; a binary file may still hold hits.
    if (!(error instanceof LlmcError && HARMLESS.has(error.code))) throw error;
  }
};

const readPayload = async (
  files: Files,
  row: HandleRow,
  signal: AbortSignal | undefined,
  read: () => Promise<LineSlice | undefined>,
): Promise<LineSlice> => {
  stopIfAborted(signal);
  await checkSource(files, row, signal);
  const slice = await read();
  if (slice === undefined) throw notFound(row.id);
  return slice;
};

const insert = (
  { options: { now, limits }, store, sweeper }: Parts,
  handle: Pick<HandleRow, "id" | "principal" | "source" | "blob" | "file_version"> & { kind: HandleKind },
): void => {
  const created = now();
  const { ttlSeconds, maxTotalBytes } = limits();
  store.insert({ ...handle, created, expires: created + ttlSeconds * 1000 });
  sweeper.evict(maxTotalBytes, handle.id);
};

const put = async (
  parts: Parts,
  { principal }: HandleOwner,
  kind: HandleKind,
  source: string,
  lines: Parameters<Handles["put"]>[3],
  end = "\n",
): Promise<string> => {
  const { options, store, sweeper } = parts;
  const id = options.newId();
  const realPath = realPathOf(options, source);
  const shown = kind === "output" ? source : shownPath(realPath, options.workspace);
  // Hits know the version of their own file; a folder changes with every file in it.
  const hasVersion = kind !== "output" && kind !== "search_hits";
  const version = hasVersion ? (versionOf(realPath) ?? null) : null;
  const maxBytes = maxBytesOf(options);
  let isWaste = true;
  try {
    isWaste = await storeLines({ state: options.state, store, lines, end, maxBytes }, (blob) =>
      insert(parts, { id, principal, kind, source: shown, blob, file_version: version }),
    );
  } finally {
    if (isWaste) sweeper.expectGarbage();
  }
  await sweeper.sweep();
  return id;
};

const PIECE_CHARS = 64 * 1024;

/** Ends with a line end, as every text that is stored by lines. */
const piecesOf = function* (text: string): Generator<string> {
  for (let start = 0; start < text.length; start += PIECE_CHARS) yield text.slice(start, start + PIECE_CHARS);
  if (text !== "" && !text.endsWith("\n")) yield "\n";
};

/** The whole text; more than the limit ends it with `TooLarge`. */
const textOf = async function* (files: Files, source: string, maxBytes: number): AsyncGenerator<string> {
  for await (const { text, endByte } of fileText(files, source)) {
    if (endByte > maxBytes) throw new TooLarge();
    yield text;
  }
};

const reuse = (
  { options, store }: Parts,
  { principal }: HandleOwner,
  source: string,
  version: string,
): string | undefined => {
  const known = store.findFile(principal, source, version);
  if (known !== undefined) store.extend(known, options.now() + options.limits().ttlSeconds * 1000);
  return known;
};

/** A handle that points at the file, where it is too large to be kept. */
const putReference = async (parts: Parts, owner: HandleOwner, source: string): Promise<string> => {
  const { options, sweeper } = parts;
  const version = versionOf(realPathOf(options, source)) ?? "";
  const made = await options.state.transactSoon(() => {
    const known = reuse(parts, owner, source, version);
    if (known !== undefined) return known;
    const id = options.newId();
    const { principal } = owner;
    insert(parts, { id, principal, kind: "file_content", source, blob: null, file_version: version });
    return id;
  });
  await sweeper.sweep();
  return made;
};

const putFile = async (parts: Parts, owner: HandleOwner, path: string): Promise<string> => {
  const { options } = parts;
  // Whoever may not read it gets no handle either.
  const { path: source, sizeBytes } = await options.files.readText(path, ONE_BYTE);
  const version = versionOf(realPathOf(options, source)) ?? "";
  const known = await options.state.transactSoon(() => reuse(parts, owner, source, version));
  if (known !== undefined) return known;
  const maxBytes = maxBytesOf(options) - NOTICE_BYTES;
  if (sizeBytes > maxBytes) return putReference(parts, owner, source);
  try {
    return await put(parts, owner, "file_content", source, textOf(options.files, source, maxBytes), "");
  } catch (error) {
    if (error instanceof TooLarge) return putReference(parts, owner, source);
    throw error;
  }
};

const textBytes = async function* (files: Files, source: string, signal: AbortSignal | undefined) {
  for await (const { text } of fileText(files, source, signal)) yield Buffer.from(text);
};

const search = async (
  { options, store }: Parts,
  row: HandleRow,
  { pattern, offsetLines, maxHits }: HandleQuery,
  payloads: PayloadReader,
  signal: AbortSignal | undefined,
): Promise<HandleSlice> => {
  const { state, files, grep, searchTexts = {}, renderers = {} } = options;
  if (grep === undefined) throw new LlmcError("unavailable", "Handles cannot be searched here.");
  const kind = row.kind as HandleKind;
  const { blob } = row;
  if (blob !== null) await checkSource(files, row, signal);
  const withheld = new Set<number>();
  const isCounted = (line: number): boolean => !withheld.has(line);
  const chunks =
    blob === null
      ? textBytes(files, row.source, signal)
      : searchTexts[kind] === undefined
        ? chunksOf(state, store, blob)
        : inSearchText(chunksOf(state, store, blob), searchTexts[kind], (line) => withheld.add(line), signal);
  const { hits, total } = await grep(pattern, chunks, { offsetLines, maxHits, isCounted }, signal);
  const readLines = (bounds: SliceBounds) =>
    blob === null ? files.readText(row.source, bounds, signal) : payloads.lines(row, bounds, signal);
  const text = await showHits(hits, readLines, renderers[kind] !== undefined);
  const last = hits.at(-1)?.line ?? offsetLines;
  return {
    ...sliceOf(options, row, {
      text,
      firstLine: offsetLines,
      lines: last - offsetLines,
      totalLines: row.lines ?? undefined,
      truncated: total > hits.length,
      endByte: 0,
    }),
    totalHits: total,
  };
};

export const createHandles = (options: HandlesOptions): Handles => {
  const { state, files, now, renderers = {} } = options;
  const owners = createOwners(options.pid);
  const store = createHandleStore(state, owners, now);
  const parts: Parts = { options, store, sweeper: createSweeper(state, owners, now) };
  const payloads = createPayloadReader(state, store, renderers);

  return {
    put: (owner, kind, source, lines) => put(parts, owner, kind, source, lines),
    putText: (owner, kind, source, text) => put(parts, owner, kind, source, piecesOf(text), ""),
    putFile: (owner, path) => putFile(parts, owner, path),

    readLines: async (owner, id, bounds, signal) => {
      const row = find(parts, owner, id);
      const slice =
        row.blob === null
          ? await files.readText(row.source, bounds, signal)
          : await readPayload(files, row, signal, () => payloads.lines(row, bounds, signal));
      return sliceOf(options, row, slice);
    },

    readChunk: async (owner, id, chunk, signal) => {
      if (!Number.isSafeInteger(chunk) || chunk < 0) {
        throw new LlmcError("invalid_args", "Chunks are whole numbers, counted from 0.");
      }
      const row = find(parts, owner, id);
      const slice =
        row.blob === null
          ? await readFileChunk(files, row.source, chunk, signal)
          : await readPayload(files, row, signal, () => payloads.chunk(row, chunk, signal));
      return sliceOf(options, row, slice);
    },

    search: async (owner, id, query, signal) =>
      search(parts, find(parts, owner, id), query, payloads, signal),

    list: async ({ principal }) =>
      state.exists() ? state.read(() => store.handles(principal)).map(infoOf) : [],
  };
};
