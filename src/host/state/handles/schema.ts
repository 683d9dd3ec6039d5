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
