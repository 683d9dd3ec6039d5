import { LlmcError } from "../base/error.ts";
import { csvCell, plural, quoteForMessage, showControls } from "../base/text.ts";
import { bold, green, type Io, onOneLine, red, table } from "./io.ts";
import { wholeNumber } from "./whole-number.ts";

interface AuditProblem {
  readonly file: string;
  readonly line: number | null;
  readonly what: string;
  readonly detail: string;
}

interface AuditReport {
  readonly ok: boolean;
  readonly chains: number;
  readonly files: number;
  readonly records: number;
  readonly unproven: readonly { readonly file: string; readonly bytes: number }[];
  readonly others: number;
  readonly problems: readonly AuditProblem[];
}

type Row = Readonly<Record<string, unknown>>;

/** What the commands ask; the wiring provides it. */
export interface AuditPort {
  verify(): Promise<AuditReport>;
  /**
   * Visits every signed record, chain by chain, and says of each whether it is known to belong where it is; returns the number
   * of lines that are not signed.
   */
  read(visit: (row: Row, line: string, isVouched: boolean) => void): Promise<number>;
}

export interface AuditFilters {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly principal?: string | undefined;
  readonly tool?: string | undefined;
  readonly outcome?: string | undefined;
  readonly limit?: string | undefined;
}

/** Returns whether all records are as they were written. */
export const runAuditVerify = async (
  audit: AuditPort,
  io: Io,
  { json }: { readonly json: boolean },
): Promise<boolean> => {
  const report = await audit.verify();
  const { ok, records, chains, files, unproven, others, problems } = report;
  if (json) {
    io.data(`${JSON.stringify(report, null, 2)}\n`);
    return ok;
  }
  for (const { file, line, what, detail } of problems)
    io.out(`${red(what, io.hasColours)}  ${file}${line === null ? "" : `:${line}`}  ${detail}\n`);
  const counted = `${plural(records, "record")} of ${plural(chains, "chain")} in ${plural(files, "file")}`;
  io.out(
    ok
      ? `${green("ok", io.hasColours)}: ${counted} ${records === 1 ? "is as it was" : "are as they were"} written.\n`
      : `${counted} were read, with ${plural(problems.length, "problem")}: not everything is as it was written.\n`,
  );
  for (const { file, bytes } of unproven)
    io.out(
      `${file}: the last ${plural(bytes, "byte")} ${bytes === 1 ? "is" : "are"} not proven. They begin like a record that a killed process did not write to its end; somebody could have added them.\n`,
    );
  if (others > 0)
    io.out(
      `${plural(others, "file was", "files were")} signed with another key (another state folder, or the workspace was moved or copied) and not checked.\n`,
    );
  return ok;
};

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** JavaScript alone would take a 7 for July 2001. */
const DATE = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?$/i;

/** A time as typed: a date, or how long ago. */
const timeOf = (option: "--since" | "--until", typed: string, nowMs: number): string => {
  const [, count, unit = ""] = /^(\d{1,6})([mhd])$/.exec(typed) ?? [];
  const date = DATE.test(typed) ? Date.parse(typed) : Number.NaN;
  const ms = count === undefined ? date : nowMs - Number(count) * (UNITS[unit] ?? 0);
  if (Number.isNaN(ms))
    throw new LlmcError("invalid_args", `${option} is not a time.`, {
      hint: "Give a date, such as 2026-01-31 or 2026-01-31T08:00Z, or how long ago: 15m, 24h, 7d.",
    });
  return new Date(ms).toISOString();
};

const textAt = (row: Row, key: string): string => {
  const value = row[key];
  return value === undefined || value === null ? "" : String(value);
};

const decisionOf = (row: Row): { readonly allowed?: unknown; readonly policies?: unknown } =>
  (row["decision"] ?? {}) as { readonly allowed?: unknown; readonly policies?: unknown };

/** What the table shows as the outcome, and what a filter compares. */
const outcomeOf = (row: Row): string => {
  const { allowed } = decisionOf(row);
  if (row["outcome"] !== undefined) return textAt(row, "outcome");
  if (row["answer"] !== undefined) return textAt(row, "answer");
  return allowed === undefined ? "" : allowed === true ? "allowed" : "denied";
};

/** Filters by a name, and what a record has there. */
const NAMED = {
  tool: (row: Row) => textAt(row, "tool"),
  outcome: outcomeOf,
  principal: (row: Row) => textAt(row, "principal"),
} as const;

const NAMES = Object.keys(NAMED) as readonly (keyof typeof NAMED)[];

const filterOf = (filters: AuditFilters, nowMs: number): ((row: Row) => boolean) => {
  const { since, until } = filters;
  const from = since === undefined ? "" : timeOf("--since", since, nowMs);
  const to = until === undefined ? undefined : timeOf("--until", until, nowMs);
  return (row) => {
    const time = textAt(row, "time");
    if (time < from || (to !== undefined && time >= to)) return false;
    return NAMES.every((key) => filters[key] === undefined || NAMED[key](row) === filters[key]);
  };
};

const byTime = (one: Row, other: Row): number => (textAt(one, "time") < textAt(other, "time") ? -1 : 1);

/** Marks a record that is signed, but lies where `verify` finds a problem: it may have been moved or put back. */
const marked = (row: Row, isVouched: boolean): Row => (isVouched ? row : { ...row, unverified: true });

const noteUnsigned = (io: Io, unsigned: number): void => {
  if (unsigned > 0)
    io.err(
      `note: left out, because not signed: ${plural(unsigned, "line or file", "lines or files")}; llmc audit verify says where.\n`,
    );
};

const DEFAULT_LIMIT = 50;

type SeenNames = Readonly<Record<keyof typeof NAMED, Set<string>>>;

/** The last records that pass the filters, in order of time. */
const lastRows = async (audit: AuditPort, filters: AuditFilters, nowMs: number) => {
  const limit =
    filters.limit === undefined ? DEFAULT_LIMIT : wholeNumber("--limit", filters.limit, { min: 1 });
  const passes = filterOf(filters, nowMs);
  let rows: Row[] = [];
  const seen: SeenNames = { tool: new Set(), outcome: new Set(), principal: new Set() };
  const cut = (): void => {
    rows = rows.sort(byTime).slice(-limit);
  };
  const unsigned = await audit.read((row, _line, isVouched) => {
    for (const key of NAMES) seen[key].add(NAMED[key](row));
    if (!passes(row)) return;
    rows.push(marked(row, isVouched));
    // All records of a year need not be held to show the last of them.
    if (rows.length > limit + 10_000) cut();
  });
  cut();
  return { rows: rows as readonly Row[], unsigned, seen };
};

const policiesOf = (row: Row): string => {
  const { policies } = decisionOf(row);
  return Array.isArray(policies) ? policies.join(" ") : "";
};

/** Every field of an audit entry, in the order of a table; what the trail notes of its own files is left to JSON. */
const COLUMNS = [
  ...["time", "kind", "correlation_id", "principal", "transport", "route", "agent_id", "session_id", "model"],
  ...[
    "tool",
    "action",
    "effect",
    "action_group",
    "allowed",
    "policies",
    "path",
    "args_digest",
    "resource_digest",
    "bytes_in",
    "bytes_out",
    "duration_ms",
  ],
  ...[
    "about",
    "program",
    "host",
    "collection",
    "flow",
    "answer",
    "granted",
    "scope",
    "provider",
    "asked_model",
    "tokens_in",
    "tokens_out",
  ],
  ...["bytes_read", "calls", "turns"],
  ...["cost_usd", "exit_code", "reason", "address", "token_name", "count", "missed"],
  ...["outcome", "budget_profile", "trace_id", "cut", "chain", "seq", "unverified"],
] as const;

const csvLine = (row: Row): string => {
  const derived: Row = { allowed: decisionOf(row).allowed, policies: policiesOf(row) };
  return COLUMNS.map((key) => csvCell(textAt(key in derived ? derived : row, key))).join(",");
};

/** What a record is about, by the first of these that it has. */
const WHERE = [
  ...["path", "program", "host", "collection", "flow", "granted", "asked_model", "reason", "server"],
  ...["resource_digest", "args_digest"],
] as const;

/** A misspelt name would look like a quiet day. */
const unseenNote = (filters: AuditFilters, seen: SeenNames): string =>
  NAMES.filter((key) => filters[key] !== undefined && !seen[key].has(filters[key]))
    .map((key) => {
      const names = [...seen[key]].filter((name) => name !== "").sort();
      return ` No record has the ${key} ${quoteForMessage(filters[key] ?? "")}; there are: ${showControls(names.join(", "))}.`;
    })
    .join("");

interface ShowOptions extends AuditFilters {
  readonly json: boolean;
  readonly nowMs: number;
}

export const runAuditShow = async (audit: AuditPort, io: Io, options: ShowOptions): Promise<void> => {
  const { rows, unsigned, seen } = await lastRows(audit, options, options.nowMs);
  noteUnsigned(io, unsigned);
  if (options.json) {
    io.data(`${JSON.stringify(rows, null, 2)}\n`);
    return;
  }
  if (rows.length === 0) {
    io.out(`No records.${unseenNote(options, seen)}\n`);
    return;
  }
  const lines = rows.map((row) =>
    [
      textAt(row, "time") + (row["unverified"] === true ? " unverified" : ""),
      textAt(row, "kind"),
      textAt(row, "tool"),
      outcomeOf(row),
      textAt(row, "principal"),
      textAt(row, "agent_id"),
      textAt(row, "duration_ms"),
      WHERE.map((key) => textAt(row, key)).find((text) => text !== "") ?? "",
      decisionOf(row).allowed === false ? policiesOf(row) : "",
    ].map(onOneLine),
  );
  const head = ["TIME", "KIND", "TOOL", "OUTCOME", "PRINCIPAL", "AGENT", "MS", "WHERE", "DENIED BY"];
  const [first = "", ...rest] = table([head, ...lines])
    .split("\n")
    .map((line) => line.trimEnd());
  io.out([bold(first, io.hasColours), ...rest, ""].join("\n"));
};

interface ExportOptions extends AuditFilters {
  readonly format: "jsonl" | "csv";
  readonly nowMs: number;
}

/** Writes the records as they lie: JSON lines are the signed ones, byte for byte; one that is not vouched for is wrapped. */
export const runAuditExport = async (audit: AuditPort, io: Io, options: ExportOptions): Promise<void> => {
  const passes = filterOf(options, options.nowMs);
  const limit =
    options.limit === undefined ? Number.MAX_SAFE_INTEGER : wholeNumber("--limit", options.limit, { min: 1 });
  let count = 0;
  if (options.format === "csv") io.data(`${COLUMNS.join(",")}\n`);
  const unsigned = await audit.read((row, line, isVouched) => {
    if (!passes(row) || ++count > limit) return;
    const asJson = isVouched ? line : JSON.stringify({ unverified: line });
    io.data(`${options.format === "csv" ? csvLine(marked(row, isVouched)) : asJson}\n`);
  });
  noteUnsigned(io, unsigned);
};
