/** Tables of the locks in the state database. */
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
