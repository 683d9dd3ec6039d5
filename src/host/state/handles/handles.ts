import { posix } from "node:path";
import { LlmcError } from "../../../base/error.ts";
import type { ErrorCode } from "../../../base/error-table.ts";
import { stopIfAborted } from "../../../base/stop-if-aborted.ts";
import { quoteForMessage } from "../../../base/text.ts";
import { shownPath } from "../../../policy/paths.ts";
import { createOwners } from "../../os/process-owner.ts";
import { randomId } from "../../os/random-id.ts";
import type { Files } from "../../read/files.ts";
import type { SliceBounds } from "../../read/line-slicer.ts";
import type { Database } from "../database/database.ts";
import { createFileChunks, type TextChunk, versionOf } from "./file.ts";
import { storeLines } from "./put.ts";
import { createPayloadReader } from "./read.ts";
import type { Renderer } from "./render.ts";
import { createHandleStore, type HandleRow, type HandleStore } from "./store.ts";
import { createSweeper, type Sweeper } from "./sweep.ts";

/** The payload of a handle. */
export type HandleKind = "file_content" | "fs_list" | "search_hits" | "output";

export interface HandleInfo {
  readonly id: string;
  readonly kind: HandleKind;
  /** Real path of what it was made from, relative to the workspace where inside; callers must be able to read it. */
  readonly source: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Bytes of the stored payload; 0 for a handle that points at a file. */
  readonly sizeBytes: number;
}

export interface HandleSlice {
  readonly info: HandleInfo;
  readonly text: string;
  readonly firstLine: number;
  readonly lines: number;
  readonly totalLines: number | undefined;
  readonly truncated: boolean;
  /** Bytes of the text up to the end of the slice; 0 where it is rendered from what is stored. */
  readonly endByte: number;
  /** The source has changed since the handle was made (a file's size or time differs), or is gone. */
  readonly stale: boolean;
}

/** Whose handles: the principal of a caller. To anybody else a handle does not exist. */
export interface HandleOwner {
  readonly principal: string;
}

/** Large results kept for later reading. They outlive the process and expire. */
export interface Handles {
  /**
   * Stores lines as they come, without holding them all; beyond the size limit the rest is dropped, and the last line
   * says so.
   */
  put(
    owner: HandleOwner,
    kind: HandleKind,
    source: string,
    lines: AsyncIterable<string> | Iterable<string>,
  ): Promise<string>;
  /** A handle to a file as it is now: nothing is copied; reading it goes through the file port again. */
  putFile(owner: HandleOwner, path: string): Promise<string>;
  readLines(owner: HandleOwner, id: string, slice: SliceBounds, signal?: AbortSignal): Promise<HandleSlice>;
  /** Chunks count from 0, 64 KiB each. */
  readChunk(owner: HandleOwner, id: string, chunk: number, signal?: AbortSignal): Promise<HandleSlice>;
  /** Newest first. */
  list(owner: HandleOwner): Promise<readonly HandleInfo[]>;
}

export interface HandleLimits {
  readonly ttlSeconds: number;
  /** Maximum size of all payloads together; the principal that uses most loses its oldest handles first. */
  readonly maxTotalBytes: number;
  readonly maxBytesEach: number;
}

export interface HandlesOptions {
  readonly state: Database;
  readonly files: Files;
  /** Real path. */
  readonly workspace: string;
  readonly limits: () => HandleLimits;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly newId: () => string;
  readonly pid: number;
  /** Kinds whose stored lines are rendered before they are shown. */
  readonly renderers?: Partial<Record<HandleKind, Renderer>>;
}

/** 60 random bits, so that it cannot be guessed. */
export const newHandleId = (): string => randomId("h_", 12);

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

const sliceOf = (options: HandlesOptions, row: HandleRow, slice: TextChunk): HandleSlice => ({
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
    // What is gone was inside the roots, or it would have been refused; a binary file may hold hits all the same.
    if (!(error instanceof LlmcError && HARMLESS.has(error.code))) throw error;
  }
};

const readPayload = async (
  files: Files,
  row: HandleRow,
  signal: AbortSignal | undefined,
  read: () => Promise<TextChunk | undefined>,
): Promise<TextChunk> => {
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
): Promise<string> => {
  const { options, store, sweeper } = parts;
  const id = options.newId();
  const { maxBytesEach, maxTotalBytes } = options.limits();
  const realPath = realPathOf(options, source);
  const shown = kind === "output" ? source : shownPath(realPath, options.workspace);
  const version = kind === "output" ? null : (versionOf(realPath) ?? null);
  const maxBytes = Math.min(maxBytesEach, maxTotalBytes);
  let isWaste = true;
  try {
    isWaste = await storeLines(options.state, store, lines, maxBytes, (blob) =>
      insert(parts, { id, principal, kind, source: shown, blob, file_version: version }),
    );
  } finally {
    if (isWaste) sweeper.expectGarbage();
  }
  await sweeper.sweep();
  return id;
};

const putFile = async (parts: Parts, { principal }: HandleOwner, path: string): Promise<string> => {
  const { options, store, sweeper } = parts;
  // Whoever may not read it gets no handle either.
  const { path: source } = await options.files.readText(path, ONE_BYTE);
  const version = versionOf(realPathOf(options, source)) ?? "";
  const made = await options.state.transactSoon(() => {
    const known = store.findFile(principal, source, version);
    const id = known ?? options.newId();
    if (known === undefined)
      insert(parts, { id, principal, kind: "file_content", source, blob: null, file_version: version });
    else store.extend(id, options.now() + options.limits().ttlSeconds * 1000);
    return id;
  });
  await sweeper.sweep();
  return made;
};

export const createHandles = (options: HandlesOptions): Handles => {
  const { state, files, now, renderers = {} } = options;
  const owners = createOwners(options.pid);
  const store = createHandleStore(state, owners, now);
  const parts: Parts = { options, store, sweeper: createSweeper(state, owners, now) };
  const readFileChunk = createFileChunks(files);
  const payloads = createPayloadReader(state, store, renderers);

  return {
    put: (owner, kind, source, lines) => put(parts, owner, kind, source, lines),
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
          ? await readFileChunk(row.source, versionOf(realPathOf(options, row.source)) ?? "", chunk, signal)
          : await readPayload(files, row, signal, () => payloads.chunk(row, chunk, signal));
      return sliceOf(options, row, slice);
    },

    list: async ({ principal }) =>
      state.exists() ? state.read(() => store.handles(principal)).map(infoOf) : [],
  };
};
