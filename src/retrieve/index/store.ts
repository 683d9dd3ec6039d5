import type { Database } from "../../host/state/database/database.ts";
import type { FileEntry } from "./file-entry.ts";
import type { Look } from "./look.ts";

export type FileState = "indexed" | "binary" | "large" | "failed";

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

/** What a write made of a look, for whoever holds the index in memory. */
export type Written =
  | { readonly kind: "put"; readonly row: FileRow; readonly entry: FileEntry | undefined }
  | { readonly kind: "stamp"; readonly path: string; readonly stamp: string }
  | { readonly kind: "removed"; readonly path: string };

/** The index on the disk. */
export interface Store {
  readonly db: Database;
  generation(): number;
  /** Hands over everything that was written after a generation; 0: everything. Undefined: too long ago to be told apart. */
  since(
    generation: number,
    removed: (path: string) => void,
    put: (row: FileRow, entry: StoredEntry | undefined) => void,
  ): number | undefined;
  write(looks: readonly Look[]): { readonly generation: number; readonly written: readonly Written[] };
  symbols(take: (path: string, language: string, packed: Uint8Array) => void): void;
  symbolsOf(path: string): { readonly language: string; readonly packed: Uint8Array } | undefined;
  /** A date of the last complete look at all files, in milliseconds; 0: never. */
  scannedMs(): number;
  setScanned(ms: number): void;
}

// Tombstones that are kept; a process that slept through more loads everything again.
const MAX_GONE = 20_000;

const COLUMNS = "id, path, state, size, stamp, hash, language, fallback";

const isStored = (look: Look): look is Exclude<Look, { readonly kind: "none" | "same" }> =>
  look.kind !== "none" && look.kind !== "same";

export const createStore = (db: Database): Store => {
  const { sql } = db;

  const meta = (key: string): number =>
    Number(sql("SELECT value FROM meta WHERE key = ?").get(key)?.["value"] ?? 0);
  const setMeta = (key: string, value: number): void =>
    void sql("INSERT OR REPLACE INTO meta VALUES (?, ?)").run(key, String(value));

  const drop = (id: number): void => {
    sql("DELETE FROM entries WHERE file = ?").run(id);
    sql("DELETE FROM symbols WHERE file = ?").run(id);
  };

  const remove = (path: string, generation: number): Written => {
    const id = sql("DELETE FROM files WHERE path = ? RETURNING id").get(path)?.["id"];
    if (typeof id === "number") {
      drop(id);
      sql("INSERT OR REPLACE INTO gone VALUES (?, ?, ?)").run(id, path, generation);
    }
    return { kind: "removed", path };
  };

  const put = (look: Exclude<Look, { readonly kind: "none" | "same" }>, generation: number): Written => {
    const { path, size, stamp } = look;
    const entry = look.kind === "read" ? look.entry : undefined;
    const state: FileState = look.kind === "read" ? "indexed" : look.kind;
    const hash = look.kind === "read" ? look.hash : "";
    const language = entry?.language ?? "";
    const fallback = look.kind === "failed" ? look.reason : (entry?.fallback ?? null);
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
    if (entry === undefined) drop(id);
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

  const forgetOldest = (): void => {
    const [count, last] = [
      Number(sql("SELECT count(*) AS n FROM gone").get()?.["n"]),
      sql("SELECT generation FROM gone ORDER BY generation DESC LIMIT 1 OFFSET ?").get(MAX_GONE / 2)?.[
        "generation"
      ],
    ];
    if (count <= MAX_GONE || typeof last !== "number") return;
    sql("DELETE FROM gone WHERE generation <= ?").run(last);
    setMeta("forgotten", last);
  };

  return {
    db,
    generation: () => meta("generation"),

    since: (generation, removed, putRow) =>
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

    write: (looks) =>
      db.transact(() => {
        const changes = looks.some(({ kind }) => kind !== "same");
        const generation = meta("generation") + (changes ? 1 : 0);
        const written = looks.map((look): Written => {
          if (look.kind === "none") return remove(look.path, generation);
          if (isStored(look)) return put(look, generation);
          sql("UPDATE files SET stamp = ?, size = ? WHERE path = ?").run(look.stamp, look.size, look.path);
          return { kind: "stamp", path: look.path, stamp: look.stamp };
        });
        if (changes) {
          setMeta("generation", generation);
          if (looks.some(({ kind }) => kind === "none")) forgetOldest();
        }
        return { generation, written };
      }),

    symbols: (take) =>
      db.read(() => {
        const rows = sql(
          "SELECT path, language, data FROM files JOIN symbols ON file = id ORDER BY path",
        ).iterate();
        for (const row of rows) take(String(row["path"]), String(row["language"]), row["data"] as Uint8Array);
      }),

    symbolsOf: (path) => {
      const row = sql("SELECT language, data FROM files JOIN symbols ON file = id WHERE path = ?").get(path);
      return row && { language: String(row["language"]), packed: row["data"] as Uint8Array };
    },

    scannedMs: () => meta("scanned"),
    setScanned: (ms) => db.transact(() => setMeta("scanned", ms)),
  };
};
