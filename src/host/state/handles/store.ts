import type { Owners } from "../../os/process-owner.ts";
import { createLineSlicer, type LineSlice, type SliceBounds } from "../../read/line-slicer.ts";
import type { Database } from "../database/database.ts";
import type { Chunk } from "./chunks.ts";

/** Tables of the handles in the state database. */
export const HANDLE_TABLES = `
  CREATE TABLE blobs (
    -- Never used twice: a writer whose blob was swept must not write into another's.
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- NULL until it is whole.
    sha256 BLOB UNIQUE,
    bytes INTEGER NOT NULL DEFAULT 0,
    lines INTEGER NOT NULL DEFAULT 0,
    is_cut INTEGER NOT NULL DEFAULT 0,
    -- Who is writing it, and when they last did.
    pid INTEGER NOT NULL,
    birth TEXT NOT NULL,
    touched INTEGER NOT NULL
  );
  CREATE TABLE chunks (
    blob INTEGER NOT NULL REFERENCES blobs (id),
    n INTEGER NOT NULL,
    -- Line that the first byte belongs to, and first line that starts here or later: they differ inside a line.
    newlines_before INTEGER NOT NULL,
    starts_before INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (blob, n)
  );
  CREATE INDEX chunks_by_line ON chunks (blob, starts_before, n);
  CREATE TABLE handles (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    -- Whose it is.
    principal TEXT NOT NULL,
    -- Milliseconds since the epoch.
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    -- Either a stored payload or a file as it was.
    blob INTEGER REFERENCES blobs (id),
    file_version TEXT
  );
  CREATE INDEX handles_by_age ON handles (created);
  CREATE INDEX handles_by_expiry ON handles (expires);
  CREATE INDEX handles_by_blob ON handles (blob);
  CREATE INDEX handles_by_source ON handles (source);
  CREATE INDEX handles_by_principal ON handles (principal, created);`;

/** A handle as it is kept. Times are in milliseconds since the epoch. */
export interface HandleRow {
  readonly id: string;
  /** Whose it is; nobody else finds it. */
  readonly principal: string;
  readonly kind: string;
  readonly source: string;
  readonly created: number;
  readonly expires: number;
  /** The stored payload; null for a handle that points at a file. */
  readonly blob: number | null;
  readonly file_version: string | null;
  readonly bytes: number | null;
  readonly lines: number | null;
  readonly is_cut: number | null;
}

export interface WholeBlob {
  readonly sha256: Buffer;
  readonly bytes: number;
  readonly lines: number;
  readonly isCut: boolean;
}

const SELECT = `SELECT handles.*, blobs.bytes, blobs.lines, blobs.is_cut
  FROM handles LEFT JOIN blobs ON blobs.id = handles.blob WHERE handles.expires > ?`;

const asBuffer = (bytes: unknown): Buffer =>
  bytes instanceof Uint8Array
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : Buffer.alloc(0);

type Sql = Database["sql"];

const bytesBefore = (sql: Sql, blob: number, n: number): number => {
  const before = sql("SELECT sum(length(bytes)) AS bytes FROM chunks WHERE blob = ? AND n < ?").get(blob, n);
  return Number(before?.["bytes"] ?? 0);
};

const readBlobLines = (
  sql: Sql,
  blob: number,
  { offsetLines, offsetBytes, maxLines, maxBytes }: SliceBounds,
): LineSlice => {
  // Chunks know their lines, not their bytes: by bytes they are counted from the first one.
  const seek =
    offsetBytes !== undefined
      ? undefined
      : sql(
          "SELECT n, newlines_before FROM chunks WHERE blob = ? AND starts_before <= ? ORDER BY starts_before DESC, n DESC LIMIT 1",
        ).get(blob, offsetLines);
  const skipped = Number(seek?.["newlines_before"] ?? 0);
  const slicer = createLineSlicer({
    offsetLines: offsetLines - skipped,
    offsetBytes,
    maxLines,
    maxBytes,
  });
  const rows = sql("SELECT bytes FROM chunks WHERE blob = ? AND n >= ? ORDER BY n");
  /** The slicer has not seen what comes before the chunk that it began with. */
  const within = (slice: LineSlice): LineSlice => ({
    ...slice,
    firstLine: slice.firstLine + skipped,
    endByte: slice.endByte + bytesBefore(sql, blob, Number(seek?.["n"] ?? 0)),
  });
  let isOver = false;
  for (const { bytes } of rows.iterate(blob, Number(seek?.["n"] ?? 0))) {
    // One that came after the slice was whole: there is more.
    if (isOver) return within(slicer.finish(false));
    const progress = slicer.push(asBuffer(bytes));
    if (progress === "over") return within(slicer.finish(false));
    isOver = progress === "done";
  }
  return within(slicer.finish(true));
};

/** The database operations on handles. All of them run inside a transaction. */
export type HandleStore = ReturnType<typeof createHandleStore>;

export const createHandleStore = (state: Database, owners: Owners, now: () => number) => {
  const { sql } = state;
  return {
    handle: (principal: string, id: string): HandleRow | undefined =>
      sql(`${SELECT} AND handles.id = ? AND handles.principal = ?`).get(now(), id, principal) as
        | HandleRow
        | undefined,
    handles: (principal: string): readonly HandleRow[] =>
      sql(`${SELECT} AND handles.principal = ? ORDER BY created DESC, handles.rowid DESC`).all(
        now(),
        principal,
      ) as unknown as HandleRow[],

    beginBlob: (): number => {
      const { pid, birth } = owners.self();
      const insert = sql("INSERT INTO blobs (pid, birth, touched) VALUES (?, ?, ?)");
      return Number(insert.run(pid, birth, now()).lastInsertRowid);
    },
    addChunks: (blob: number, chunks: readonly Chunk[], bytes: number): void => {
      const insert = sql("INSERT INTO chunks VALUES (?, ?, ?, ?, ?)");
      for (const chunk of chunks) {
        insert.run(blob, chunk.n, chunk.newlinesBefore, chunk.startsBefore, chunk.bytes);
      }
      sql("UPDATE blobs SET bytes = ?, touched = ? WHERE id = ?").run(bytes, now(), blob);
    },
    findBlob: (sha256: Buffer): number | undefined => {
      const found = sql("SELECT id FROM blobs WHERE sha256 = ?").get(sha256)?.["id"];
      return typeof found === "number" ? found : undefined;
    },
    finishBlob: (blob: number, { sha256, bytes, lines, isCut }: WholeBlob): void => {
      const finish = sql("UPDATE blobs SET sha256 = ?, bytes = ?, lines = ?, is_cut = ? WHERE id = ?");
      finish.run(sha256, bytes, lines, isCut ? 1 : 0, blob);
    },
    /** The writer does not need the payload. */
    abandonBlob: (blob: number): void => {
      sql("UPDATE blobs SET touched = 0 WHERE id = ?").run(blob);
    },

    insert: ({
      id,
      principal,
      kind,
      source,
      created,
      expires,
      blob,
      file_version,
    }: Omit<HandleRow, "bytes" | "lines" | "is_cut">): void => {
      const insert = sql(
        `INSERT INTO handles (id, principal, kind, source, created, expires, blob, file_version)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      );
      insert.run(id, principal, kind, source, created, expires, blob, file_version);
    },
    findFile: (principal: string, source: string, version: string): string | undefined => {
      const find = sql(
        "SELECT id FROM handles WHERE source = ? AND file_version = ? AND principal = ? AND kind = 'file_content' AND expires > ?",
      );
      const found = find.get(source, version, principal, now())?.["id"];
      return typeof found === "string" ? found : undefined;
    },
    extend: (id: string, expires: number): void => {
      sql("UPDATE handles SET expires = max(expires, ?) WHERE id = ?").run(expires, id);
    },

    lines: (blob: number, bounds: SliceBounds): LineSlice => readBlobLines(sql, blob, bounds),
    /** First line that starts in a chunk or later; undefined where there is no such chunk. */
    startsBefore: (blob: number, n: number): number | undefined => {
      const found = sql("SELECT starts_before FROM chunks WHERE blob = ? AND n = ?").get(blob, n);
      return found === undefined ? undefined : Number(found["starts_before"]);
    },
    chunk: (blob: number, n: number): Omit<Chunk, "newlines"> | undefined => {
      const row = sql("SELECT * FROM chunks WHERE blob = ? AND n = ?").get(blob, n);
      if (row === undefined) return undefined;
      const { newlines_before, starts_before, bytes } = row;
      return {
        n,
        newlinesBefore: Number(newlines_before),
        startsBefore: Number(starts_before),
        bytes: asBuffer(bytes),
      };
    },
  };
};
