import { showControls } from "../base/text.ts";

/** Fields that are expensive to build may be a function, which is called when the line is printed. */
type Fields = Readonly<Record<string, unknown>> | (() => Readonly<Record<string, unknown>>);
type Level = "debug" | "info" | "warn" | "error";

/** The program's log, on stderr. Fields hold names, sizes and codes, never content, arguments or keys. */
export interface Log {
  debug(fields: Fields, message: string): void;
  info(fields: Fields, message: string): void;
  warn(fields: Fields, message: string): void;
  error(fields: Fields, message: string): void;
}

export interface LogSettings {
  readonly level: string;
  readonly format: "json" | "text";
}

export interface LiveLog extends Log {
  /** Changes level and format while the program runs. */
  configure(settings: LogSettings): void;
  /** Resolves when all lines so far were written to stderr. */
  flush(): Promise<void>;
}

interface Line {
  readonly level: Level;
  /** Milliseconds since the epoch; formatted when the line is printed. */
  readonly time: number;
  readonly fields: Fields;
  readonly message: string;
}

type Print = (line: Line) => void;

const RANKS: Readonly<Record<string, number>> = { trace: 0, debug: 1, info: 2, warn: 3, error: 4, silent: 5 };
const rankOf = (level: string): number => RANKS[level] ?? 0;

const asText = (line: string): string => {
  const { level, time, msg, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const fields = Object.entries(rest).map(
    ([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const text = `${String(time)} ${String(level).toUpperCase()} ${String(msg)}${fields.length === 0 ? "" : ` ${fields.join(" ")}`}`;
  // A value must not start a new line.
  return `${showControls(text).replaceAll(/\r?\n/g, "\u240a")}\n`;
};

/** JSON escapes the other control characters, but terminals interpret these as well. */
const escapeC1 = (line: string): string =>
  line.replace(/[\u007f-\u009f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`);

/** Last line of defence: the values of these fields are replaced. */
const REDACTED = ["token", "authorization", "password", "secret", "api_key"];

const loadPrinter = async (
  format: () => LogSettings["format"],
  write: (text: string) => void,
): Promise<Print> => {
  const { pino } = await import("pino");
  let printedAt = Number.NaN;
  let timestamp = "";
  const logger = pino(
    {
      level: "trace",
      base: null,
      timestamp: () => timestamp,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED, censor: "[redacted]" },
    },
    { write: (line: string) => write(format() === "text" ? asText(line) : escapeC1(line)) },
  );
  return ({ level, time, fields, message }) => {
    if (time !== printedAt) {
      printedAt = time;
      timestamp = `,"time":"${new Date(time).toISOString()}"`;
    }
    logger[level](typeof fields === "function" ? fields() : fields, message);
  };
};

/** Lines are written in batches, because a write per call would wake the client once more for each answer. */
const BATCH_MS = 20;
/** pino takes about 15 ms to load, which must not delay the first tool list. */
const FIRST_MS = 250;
/** A batch of this many lines is written at once. */
const MAX_QUEUED = 256;

const withId = (line: Line, runId: string): Line => ({
  ...line,
  fields: () => ({
    correlation_id: runId,
    ...(typeof line.fields === "function" ? line.fields() : line.fields),
  }),
});

/**
 * Lines are queued with their time and printed a little later, so that no call waits for its log line, and the first
 * answer does not wait until pino is loaded. Errors are printed at once; so are warnings, once pino is loaded.
 */
export const createLog = (
  settings: LogSettings,
  stderr: { write(text: string): void },
  /** The correlation id of lines that belong to no call: that of this run of the program. */
  runId?: string,
): LiveLog => {
  let { format } = settings;
  let threshold = rankOf(settings.level);
  let queue: Line[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isUrgent = false;
  let printer: Promise<Print> | undefined;
  let printed = "";

  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    isUrgent = false;
    if (queue.length === 0 && printer === undefined) return;
    printer ??= loadPrinter(
      () => format,
      (text) => {
        printed += text;
      },
    );
    const print = await printer;
    const lines = queue;
    queue = [];
    for (const line of lines) print(runId === undefined ? line : withId(line, runId));
    const text = printed;
    printed = "";
    if (text !== "") stderr.write(text);
  };

  const enqueue = (level: Level, fields: Fields, message: string): void => {
    if (rankOf(level) < threshold) return;
    queue.push({ level, time: Date.now(), fields, message });
    const isUrgentLine = level === "error" || (level === "warn" && printer !== undefined);
    if (!isUrgent && (isUrgentLine || queue.length >= MAX_QUEUED)) {
      isUrgent = true;
      clearTimeout(timer);
      timer = setTimeout(() => void flush(), 0);
    } else timer ??= setTimeout(() => void flush(), printer === undefined ? FIRST_MS : BATCH_MS);
  };

  return {
    debug: (fields, message) => enqueue("debug", fields, message),
    info: (fields, message) => enqueue("info", fields, message),
    warn: (fields, message) => enqueue("warn", fields, message),
    error: (fields, message) => enqueue("error", fields, message),
    configure: (next) => {
      ({ format } = next);
      threshold = rankOf(next.level);
    },
    flush,
  };
};
