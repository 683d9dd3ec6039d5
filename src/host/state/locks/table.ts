import type { Owner, Owners } from "../../os/process-owner.ts";
import type { Database } from "../database/database.ts";

/** Tables of the locks in their database. */
export const LOCK_TABLES = `
  CREATE TABLE leases (
    key TEXT PRIMARY KEY,
    -- One per acquisition, over all its keys.
    holder TEXT NOT NULL,
    pid INTEGER NOT NULL,
    birth TEXT NOT NULL,
    fence INTEGER NOT NULL,
    -- Times are in milliseconds since the epoch.
    acquired INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    lease_ms INTEGER NOT NULL,
    -- Somebody in another process waits for it.
    is_wanted INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID;
  CREATE TABLE fences (one INTEGER PRIMARY KEY CHECK (one = 1), last INTEGER NOT NULL);
  -- Starts at the clock, so that fences go on growing when the database is made anew.
  INSERT INTO fences SELECT 1, CAST(unixepoch('subsec') * 1000 AS INTEGER);`;

/** One row per held key. Times are in milliseconds since the epoch. */
export interface LeaseRow extends Owner {
  readonly key: string;
  readonly holder: string;
  readonly fence: number;
  readonly acquired: number;
  readonly expires: number;
  readonly lease_ms: number;
  readonly is_wanted: number;
}

/** A claim on some keys by one caller. */
export interface Claim {
  readonly keys: readonly string[];
  readonly holder: string;
  readonly leaseMs: number;
}

// Longest lease that the configuration allows: whatever a row says, nobody is locked out longer by a clock that jumped.
const MAX_LEASE_MS = 600_000;

/** The database operations on locks. */
export type LockTable = ReturnType<typeof createLockTable>;

export const createLockTable = (state: Database, owners: Owners, now: () => number) => {
  const { sql } = state;

  const stands = (row: LeaseRow, timeMs: number): boolean => {
    if (row.expires <= timeMs || owners.isGone(row)) return false;
    const latest = timeMs + Math.min(row.lease_ms, MAX_LEASE_MS);
    // Such an expiry comes from a clock that was set back. A holder that lives will renew it; give it the time to.
    if (row.expires > latest) sql("UPDATE leases SET expires = ? WHERE key = ?").run(latest, row.key);
    if (row.is_wanted === 0) sql("UPDATE leases SET is_wanted = 1 WHERE key = ?").run(row.key);
    return true;
  };

  return {
    /**
     * The fence of the claim, or, if nothing could be acquired, the lease that conflicts with it. The caller waits, who can
     * do so without blocking the process.
     */
    take: ({ keys, holder, leaseMs }: Claim): { readonly fence: number } | { readonly blocker: LeaseRow } =>
      state.transact(() => {
        const timeMs = now();
        // Of files that nobody asks for again.
        sql("DELETE FROM leases WHERE expires < ?").run(timeMs - MAX_LEASE_MS);
        for (const key of keys) {
          const row = sql("SELECT * FROM leases WHERE key = ?").get(key) as LeaseRow | undefined;
          if (row !== undefined && stands(row, timeMs)) return { blocker: row };
        }
        const fence = Number(sql("UPDATE fences SET last = last + 1 RETURNING last").get()?.["last"]);
        const { pid, birth } = owners.self();
        const insert = sql("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)");
        for (const key of keys) insert.run(key, holder, pid, birth, fence, timeMs, timeMs + leaseMs, leaseMs);
        return { fence };
      }, 0),

    renew: ({ keys, holder, leaseMs }: Claim): void =>
      state.transact(() => {
        for (const key of keys) {
          sql("UPDATE leases SET expires = ? WHERE key = ? AND holder = ?").run(now() + leaseMs, key, holder);
        }
      }, 0),

    /** Runs the step while nobody can take the keys over, unless somebody has: then undefined. */
    commit: <T>({ keys, holder }: Claim, step: () => T): { readonly value: T } | undefined =>
      state.transact(() => {
        // Each acquisition has its own holder id, so a row with this id has not been taken over.
        const held = sql("SELECT 1 FROM leases WHERE key = ? AND holder = ?");
        return keys.every((key) => held.get(key, holder) !== undefined) ? { value: step() } : undefined;
      }),

    /** Gives back what is still held; the keys that another process waits for. */
    release: ({ keys, holder }: Claim): readonly string[] =>
      state.transact(() => {
        const remove = sql("DELETE FROM leases WHERE key = ? AND holder = ? RETURNING is_wanted");
        return keys.filter((key) => remove.get(key, holder)?.["is_wanted"] === 1);
      }),

    rows: (): readonly LeaseRow[] =>
      state.read(() => sql("SELECT * FROM leases ORDER BY key").all() as unknown as LeaseRow[]),
  };
};
