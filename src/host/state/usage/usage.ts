import type { Database } from "../database/database.ts";

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

/** One command, as it is remembered. */
export interface UsageRecord {
  readonly agent: string;
  /** A label that the caller chose. */
  readonly session: string;
  /** Whose budget it counts against; empty if it counts against no budget. */
  readonly owner: string;
  readonly model: string;
  readonly budgetProfile: string;
  /** Program and subcommand. */
  readonly command: string;
  readonly lineHash: string;
  readonly line: string | null;
  readonly output: string | null;
  readonly mode: string;
  readonly exitCode: number | null;
  readonly errorCode: string | null;
  readonly rawBytes: number | null;
  readonly shownBytes: number | null;
  readonly rawTokens: number | null;
  readonly shownTokens: number | null;
  readonly latencyMs: number;
}

export interface UsageGroup {
  readonly name: string;
  readonly calls: number;
  readonly failed: number;
  readonly rawTokens: number;
  readonly shownTokens: number;
  readonly latencyMs: number;
}

export interface UsageSummary {
  readonly total: UsageGroup;
  readonly agents: readonly UsageGroup[];
  readonly sessions: readonly UsageGroup[];
  readonly commands: readonly UsageGroup[];
  /** Named by their date (UTC), oldest first. */
  readonly days: readonly UsageGroup[];
}

export interface UsageFilter {
  readonly days?: number | undefined;
  /** By label, for the operator; to show a caller its own figures, the owner is what counts. */
  readonly session?: string | undefined;
  readonly owner?: string | undefined;
}

/** What commands cost, and what their owners may still spend: shared by all processes of a workspace. */
export interface Usage {
  /**
   * Takes up to the wanted tokens from an owner's budget of the day before they are spent, so that many at once cannot pass the
   * cap together. What is granted may be less; 0: nothing is left.
   */
  reserve(owner: string, budgetTokens: number, wantedTokens: (leftTokens: number) => number): Promise<Grant>;
  /** Keeps the record and puts what was really spent in the place of what was reserved. */
  record(record: UsageRecord, reservedTokens: number | undefined): Promise<void>;
  /** Gives back what was reserved for a command that was not run. */
  release(owner: string, reservedTokens: number): Promise<void>;
  summary(filter: UsageFilter): UsageSummary;
}

export interface Grant {
  readonly granted: number;
  /** Before the grant. */
  readonly left: number;
}

interface UsageOptions {
  readonly state: Database;
  /** 0 keeps all. */
  readonly retentionDays: () => number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const DAY_MS = 86_400_000;
/** A budget is reset this long after its first use, because access tokens live for months. */
const BUDGET_MS = DAY_MS;
/** Old rows are deleted a few at a time, with every Nth insert, so that no call waits for one large sweep. */
const SWEEP_EVERY = 32;
const SWEPT_AT_ONCE = 500;
const GROUPS = 12;
const DAYS = 60;

const FIGURES = `count(*) AS calls, sum(coalesce(exit_code, 1) <> 0) AS failed,
  sum(coalesce(raw_tokens, shown_tokens, 0)) AS raw, sum(coalesce(shown_tokens, 0)) AS shown, sum(latency_ms) AS latency`;

const groupOf = (row: Readonly<Record<string, unknown>>): UsageGroup => ({
  name: String(row["name"]),
  calls: Number(row["calls"] ?? 0),
  failed: Number(row["failed"] ?? 0),
  rawTokens: Number(row["raw"] ?? 0),
  shownTokens: Number(row["shown"] ?? 0),
  latencyMs: Number(row["latency"] ?? 0),
});

const NOTHING: UsageSummary = {
  total: groupOf({ name: "total" }),
  agents: [],
  sessions: [],
  commands: [],
  days: [],
};

export const createUsage = ({ state, retentionDays, now }: UsageOptions): Usage => {
  const { sql } = state;

  const spentBy = (owner: string): number => {
    const spent = sql("SELECT spent_tokens FROM te_sessions WHERE session = ? AND opened > ?");
    return Number(spent.get(owner, now() - BUDGET_MS)?.["spent_tokens"] ?? 0);
  };

  const spend = (owner: string, tokens: number): void => {
    const at = now();
    sql("DELETE FROM te_sessions WHERE session = ? AND opened <= ?").run(owner, at - BUDGET_MS);
    sql(
      `INSERT INTO te_sessions (session, spent_tokens, touched, opened) VALUES (?, max(0, ?), ?, ?)
       ON CONFLICT (session) DO UPDATE SET spent_tokens = max(0, spent_tokens + ?), touched = excluded.touched`,
    ).run(owner, tokens, at, at, tokens);
  };

  const sweep = (): void => {
    const days = retentionDays();
    if (days === 0) return;
    const oldest = now() - days * DAY_MS;
    sql(
      `DELETE FROM te_calls WHERE id IN (SELECT id FROM te_calls WHERE at < ? ORDER BY at LIMIT ${SWEPT_AT_ONCE})`,
    ).run(oldest);
    sql("DELETE FROM te_sessions WHERE touched < ?").run(oldest);
  };

  const insert = (record: UsageRecord): number => {
    const values = [
      now(),
      record.agent,
      record.session,
      record.model,
      record.command,
      record.lineHash,
      record.line,
      record.output,
      record.mode,
      record.exitCode,
      record.errorCode,
      record.rawBytes,
      record.shownBytes,
      record.rawTokens,
      record.shownTokens,
      record.latencyMs,
      record.owner,
      record.budgetProfile,
    ];
    const row = sql(
      `INSERT INTO te_calls (at, agent, session, model, command, line_hash, line, output, mode, exit_code, error_code,
         raw_bytes, shown_bytes, raw_tokens, shown_tokens, latency_ms, owner, budget_profile) VALUES (${values.map(() => "?").join(", ")})`,
    );
    return Number(row.run(...values).lastInsertRowid);
  };

  const summarize = ({ days, session, owner }: UsageFilter): UsageSummary => {
    const where = "WHERE at >= ?1 AND (?2 IS NULL OR session = ?2) AND (?3 IS NULL OR owner = ?3)";
    const since = days === undefined ? 0 : now() - days * DAY_MS;
    const bound = [since, session ?? null, owner ?? null];
    const by = (name: string, order: string, limit: number): UsageGroup[] =>
      sql(
        `SELECT ${name} AS name, ${FIGURES} FROM te_calls ${where} GROUP BY 1 ORDER BY ${order} LIMIT ${limit}`,
      )
        .all(...bound)
        .map(groupOf);
    const total = sql(`SELECT 'total' AS name, ${FIGURES} FROM te_calls ${where}`).get(...bound);
    return {
      total: groupOf(total ?? {}),
      agents: by("agent || CASE model WHEN '' THEN '' ELSE ' / ' || model END", "shown DESC", GROUPS),
      sessions: by("session", "shown DESC", GROUPS),
      commands: by("command", "shown DESC", GROUPS),
      days: by("date(at / 1000, 'unixepoch')", "name DESC", DAYS).reverse(),
    };
  };

  return {
    reserve: (owner, budgetTokens, wantedTokens) =>
      state.transactSoon(() => {
        const left = Math.max(0, budgetTokens - spentBy(owner));
        const granted = left === 0 ? 0 : Math.min(left, wantedTokens(left));
        if (granted > 0) spend(owner, granted);
        return { granted, left };
      }),
    record: (record, reservedTokens) =>
      state.transactSoon(() => {
        if (insert(record) % SWEEP_EVERY === 0) sweep();
        if (reservedTokens !== undefined) spend(record.owner, (record.shownTokens ?? 0) - reservedTokens);
      }),
    release: (owner, reservedTokens) => state.transactSoon(() => spend(owner, -reservedTokens)),
    summary: (filter) => (state.exists() ? state.read(() => summarize(filter)) : NOTHING),
  };
};
