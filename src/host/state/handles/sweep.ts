import type { Owners } from "../../os/process-owner.ts";
import type { Database } from "../database/database.ts";

const MAX_HANDLES = 10_000;
const CHUNKS_AT_ONCE = 64;
// Nobody takes this long between two pieces of one payload.
const FORGOTTEN_MS = 24 * 3600 * 1000;
// 64 MiB of free pages are kept for the next payloads; what is over is given back to the disk, 4 MiB at a time.
const SPARE_PAGES = 16_384;
const PAGES_AT_ONCE = 1024;

// Each removes the oldest handle of the principal that has the most; ?1 is the handle to keep.
const REMOVE_BY_COUNT = `DELETE FROM handles WHERE id = (SELECT id FROM handles WHERE id <> ?1 AND principal =
  (SELECT principal FROM handles WHERE id <> ?1 GROUP BY principal ORDER BY count(*) DESC, principal LIMIT 1)
  ORDER BY created, rowid LIMIT 1)`;
const REMOVE_BY_BYTES = `DELETE FROM handles WHERE id = (SELECT id FROM handles WHERE id <> ?1 AND blob IS NOT NULL AND principal =
  (SELECT principal FROM handles JOIN blobs ON blobs.id = handles.blob WHERE handles.id <> ?1
   GROUP BY principal ORDER BY sum(blobs.bytes) DESC, principal LIMIT 1)
  ORDER BY created, rowid LIMIT 1)`;

export type Sweeper = ReturnType<typeof createSweeper>;

export const createSweeper = (state: Database, owners: Owners, now: () => number) => {
  const { sql } = state;
  // At first there may be something that a process left when it was killed.
  let isExpected = true;

  const totalBytes = (): number =>
    Number(
      sql("SELECT sum(bytes) AS total FROM blobs WHERE id IN (SELECT blob FROM handles)").get()?.["total"] ??
        0,
    );

  /** Payloads without a handle, taken from everybody: none of them can be shared any more. */
  const claim = (): readonly number[] => {
    const found = sql(
      "SELECT id, pid, birth, touched, sha256 IS NOT NULL AS whole FROM blobs WHERE NOT EXISTS (SELECT 1 FROM handles WHERE blob = blobs.id)",
    ).all();
    const garbage = found.filter(
      ({ pid, birth, touched, whole }) =>
        whole === 1 ||
        Number(touched) < now() - FORGOTTEN_MS ||
        owners.isGone({ pid: Number(pid), birth: String(birth) }),
    );
    const ids = garbage.map(({ id }) => Number(id));
    for (const id of ids) sql("UPDATE blobs SET sha256 = NULL, touched = 0 WHERE id = ?").run(id);
    return ids;
  };

  const freeSome = (blob: number): boolean => {
    const free = sql(
      `DELETE FROM chunks WHERE blob = ? AND n IN (SELECT n FROM chunks WHERE blob = ? LIMIT ${CHUNKS_AT_ONCE})`,
    );
    if (free.run(blob, blob).changes === CHUNKS_AT_ONCE) return false;
    sql("DELETE FROM blobs WHERE id = ?").run(blob);
    return true;
  };

  const shrink = (): boolean => {
    const { freelist_count: free } = sql("PRAGMA freelist_count").get() ?? {};
    if (Number(free) <= SPARE_PAGES) return false;
    sql(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`).all();
    return true;
  };

  return {
    /**
     * Inside a transaction: forgets handles that have expired and, where there are too many or they are too large, the
     * oldest of the principal that has the most: so that nobody can evict the handles of others by filling the store.
     */
    evict: (maxTotalBytes: number, keepId: string): void => {
      let removed = Number(sql("DELETE FROM handles WHERE expires <= ?").run(now()).changes);
      const count = Number(sql("SELECT count(*) AS count FROM handles").get()?.["count"]);
      for (let excess = count - MAX_HANDLES; excess > 0; excess--)
        removed += Number(sql(REMOVE_BY_COUNT).run(keepId).changes);
      while (totalBytes() > maxTotalBytes && sql(REMOVE_BY_BYTES).run(keepId).changes > 0) removed++;
      isExpected ||= removed > 0;
    },
    /** A payload was left behind. */
    expectGarbage: (): void => {
      isExpected = true;
    },

    /** Frees payloads that no handle leads to, where there may be any, a little at a time so that others can write. */
    sweep: async (): Promise<void> => {
      if (!isExpected) return;
      isExpected = false;
      try {
        for (const blob of await state.transactSoon(claim)) {
          while (!(await state.transactSoon(() => freeSome(blob))));
        }
        while (await state.transactSoon(shrink));
      } catch {
        // The stored payload is not affected; the next sweep tries again.
        isExpected = true;
      }
    },
  };
};
