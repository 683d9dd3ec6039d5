/** Tables of what commands cost, in the state database. */
export const USAGE_TABLES = `
  CREATE TABLE te_calls (
    id INTEGER PRIMARY KEY,
    -- Milliseconds since the epoch.
    at INTEGER NOT NULL,
    agent TEXT NOT NULL,
    -- A label that callers choose.
    session TEXT NOT NULL,
    owner TEXT NOT NULL,
    -- What the operator charges a call to; empty for calls that named nothing.
    budget_profile TEXT NOT NULL,
    model TEXT NOT NULL,
    -- Program and subcommand: never an argument's value.
    command TEXT NOT NULL,
    line_hash TEXT NOT NULL,
    -- The whole line and what was shown, only where the configuration asks for them.
    line TEXT,
    output TEXT,
    mode TEXT NOT NULL,
    exit_code INTEGER,
    error_code TEXT,
    -- NULL where nobody counted: the output went straight to a terminal.
    raw_bytes INTEGER,
    shown_bytes INTEGER,
    raw_tokens INTEGER,
    shown_tokens INTEGER,
    latency_ms REAL NOT NULL
  );
  CREATE INDEX te_calls_by_time ON te_calls (at);
  CREATE INDEX te_calls_by_session ON te_calls (session, at);
  CREATE INDEX te_calls_by_owner ON te_calls (owner, at);
  CREATE TABLE te_sessions (
    -- The owner of a budget, which lasts for a time that begins with its first use.
    session TEXT PRIMARY KEY,
    spent_tokens INTEGER NOT NULL,
    touched INTEGER NOT NULL,
    opened INTEGER NOT NULL
  ) WITHOUT ROWID;`;
