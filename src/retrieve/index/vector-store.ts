import type { Database } from "../../host/state/database/database.ts";

export interface VectorRow {
  readonly path: string;
  /** Identifies the content and the chunks they were computed for. */
  readonly layout: string;
  /** One after the other, as signed bytes. */
  readonly data: Uint8Array;
}

/** Vectors of models on the disk, separate for each model. */
export const createVectorStore = (db: Database) => ({
  /** Several reads that see the same state. */
  read: <T>(
    work: (get: (embedder: string, path: string, layout: string) => Uint8Array | undefined) => T,
  ): T =>
    db.read(() =>
      work((embedder, path, layout) => {
        const row = db
          .sql("SELECT data FROM model_vectors WHERE embedder = ? AND path = ? AND layout = ?")
          .get(embedder, path, layout);
        return row === undefined ? undefined : (row["data"] as Uint8Array);
      }),
    ),
  put: (embedder: string, rows: readonly VectorRow[]): void =>
    db.transact(() => {
      for (const { path, layout, data } of rows)
        db.sql("INSERT OR REPLACE INTO model_vectors VALUES (?, ?, ?, ?)").run(embedder, path, layout, data);
    }),
  /** Deletes vectors of other models, and those of files that are gone or have no chunks. */
  keepOnly: (embedder: string): void =>
    db.transact(() => {
      db.sql(
        "DELETE FROM model_vectors WHERE embedder <> ? OR path NOT IN (SELECT path FROM files WHERE chunk_count > 0)",
      ).run(embedder);
    }),
});

export type VectorStore = ReturnType<typeof createVectorStore>;
