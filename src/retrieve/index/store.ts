import type { Database } from "../../host/state/database/database.ts";
import type { FileEntry } from "./file-entry.ts";
import type { FileResult } from "./file-indexer.ts";

export type FileState = "indexed" | "binary" | "large" | "unreadable" | "failed";

export interface FileRow {
  readonly id: number;
  readonly path: string;
  readonly state: FileState;
  readonly size: number;
  readonly stamp: string;
  readonly hash: string;
  readonly language: string;
  readonly fallback: string | null;
}

type StoredEntry = Pick<FileEntry, "chunks" | "terms" | "vectors">;

/** What a write changed, for the index in memory. */
export type Written =
  | { readonly kind: "put"; readonly row: FileRow; readonly entry: FileEntry | undefined }
  | { readonly kind: "stamp"; readonly path: string; readonly stamp: string }
  | { readonly kind: "removed"; readonly path: string };

// Tombstones that are kept; a process that missed more removals loads everything again.
const MAX_TOMBSTONES = 20_000;

const COLUMNS = "id, path, state, size, stamp, hash, language, fallback";

type StoredResult = Exclude<FileResult, { readonly kind: "missing" | "unchanged" }>;

const drop = (sql: Database["sql"], id: number): void => {
  sql("DELETE FROM entries WHERE file = ?").run(id);
  sql("DELETE FROM symbols WHERE file = ?").run(id);
};

const remove = (sql: Database["sql"], path: string, generation: number): Written => {
  const id = sql("DELETE FROM files WHERE path = ? RETURNING id").get(path)?.["id"];
  if (typeof id === "number") {
    drop(sql, id);
    sql("INSERT OR REPLACE INTO gone VALUES (?, ?, ?)").run(id, path, generation);
  }
  return { kind: "removed", path };
};

const put = (sql: Database["sql"], result: StoredResult, generation: number): Written => {
  const { path, size, stamp } = result;
  const entry = result.kind === "parsed" ? result.entry : undefined;
  const state: FileState = result.kind === "parsed" ? "indexed" : result.kind;
  const hash = result.kind === "parsed" ? result.hash : "";
  const language = entry?.language ?? "";
  const fallback = result.kind === "failed" ? result.reason : (entry?.fallback ?? null);
  const id = Number(
    sql(
      `INSERT INTO files (path, state, size, stamp, hash, language, fallback, chunk_count, generation)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (path) DO UPDATE SET (state, size, stamp, hash, language, fallback, chunk_count, generation) =
         (excluded.state, excluded.size, excluded.stamp, excluded.hash, excluded.language, excluded.fallback,
          excluded.chunk_count, excluded.generation)
       RETURNING id`,
    ).get(path, state, size, stamp, hash, language, fallback, entry?.chunkCount ?? 0, generation)?.["id"],
  );
  if (entry === undefined) drop(sql, id);
  else {
    sql("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)").run(
      id,
      entry.chunks,
      entry.terms,
      entry.vectors,
    );
    sql("INSERT OR REPLACE INTO symbols VALUES (?, ?)").run(id, entry.symbols);
  }
  return { kind: "put", row: { id, path, state, size, stamp, hash, language, fallback }, entry };
};

/** The index on the disk. */
export const createStore = (db: Database) => {
  const { sql } = db;

  const meta = (key: string): number =>
    Number(sql("SELECT value FROM meta WHERE key = ?").get(key)?.["value"] ?? 0);
  const setMeta = (key: string, value: number): void =>
    void sql("INSERT OR REPLACE INTO meta VALUES (?, ?)").run(key, String(value));

  const dropOldTombstones = (): void => {
    const [count, last] = [
      Number(sql("SELECT count(*) AS n FROM gone").get()?.["n"]),
      sql("SELECT generation FROM gone ORDER BY generation DESC LIMIT 1 OFFSET ?").get(MAX_TOMBSTONES / 2)?.[
        "generation"
      ],
    ];
    if (count <= MAX_TOMBSTONES || typeof last !== "number") return;
    sql("DELETE FROM gone WHERE generation <= ?").run(last);
    setMeta("forgotten", last);
  };

  return {
    db,
    generation: (): number => meta("generation"),

    /** Hands over everything that was written after a generation (0: everything). Undefined: too old to know what changed since. */
    since: (
      generation: number,
      removed: (path: string) => void,
      putRow: (row: FileRow, entry: StoredEntry | undefined) => void,
    ): number | undefined =>
      db.read(() => {
        if (generation > 0 && generation < meta("forgotten")) return undefined;
        if (generation > 0)
          for (const row of sql("SELECT path FROM gone WHERE generation > ?").iterate(generation))
            removed(String(row["path"]));
        const rows = sql(
          `SELECT ${COLUMNS}, chunks, terms, vectors FROM files LEFT JOIN entries ON file = id WHERE generation > ?`,
        ).iterate(generation) as Iterable<unknown> as Iterable<FileRow & StoredEntry>;
        for (const { chunks, terms, vectors, ...row } of rows)
          putRow(row, typeof chunks === "string" ? { chunks, terms, vectors } : undefined);
        return meta("generation");
      }),

    write: (
      results: readonly FileResult[],
    ): {
      readonly generation: number;
      readonly written: readonly Written[];
    } =>
      db.transact(() => {
        const changes = results.some(({ kind }) => kind !== "unchanged");
        const generation = meta("generation") + (changes ? 1 : 0);
        const written = results.map((result): Written => {
          if (result.kind === "missing") return remove(sql, result.path, generation);
          if (result.kind !== "unchanged") return put(sql, result, generation);
          sql("UPDATE files SET stamp = ?, size = ? WHERE path = ?").run(
            result.stamp,
            result.size,
            result.path,
          );
          return { kind: "stamp", path: result.path, stamp: result.stamp };
        });
        if (changes) {
          setMeta("generation", generation);
          if (results.some(({ kind }) => kind === "missing")) dropOldTombstones();
        }
        return { generation, written };
      }),

    symbols: (take: (path: string, language: string, packed: Uint8Array) => void): void =>
      db.read(() => {
        const rows = sql(
          "SELECT path, language, data FROM files JOIN symbols ON file = id ORDER BY path",
        ).iterate();
        for (const row of rows) take(String(row["path"]), String(row["language"]), row["data"] as Uint8Array);
      }),

    symbolsOf: (path: string): { readonly language: string; readonly packed: Uint8Array } | undefined => {
      const row = sql("SELECT language, data FROM files JOIN symbols ON file = id WHERE path = ?").get(path);
      return row && { language: String(row["language"]), packed: row["data"] as Uint8Array };
    },

    /** When all files were last scanned, in milliseconds since the epoch; 0: never. */
    scannedMs: (): number => meta("scanned"),
    setScanned: (ms: number): void => db.transact(() => setMeta("scanned", ms)),
  };
};

export type Store = ReturnType<typeof createStore>;
