import { showControls } from "../base/text.ts";

/** Fields that take work to put together may come as a function: it runs when the line is printed. */
type Fields = Readonly<Record<string, unknown>> | (() => Readonly<Record<string, unknown>>);
type Level = "debug" | "info" | "warn" | "error";

/** The program's log, on stderr. Fields hold names, sizes and codes; content, arguments and keys have no place in it. */
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
  /** Level and format are hot. */
  configure(settings: LogSettings): void;
  /** Resolves when every line so far was handed to stderr. */
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
  // A value is never a line of its own.
  return `${showControls(text).replaceAll(/\r?\n/g, "\u240a")}\n`;
};

/** JSON escapes the other control characters itself; a terminal may obey these, too. */
const escapeC1 = (line: string): string =>
  line.replace(/[\u007f-\u009f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`);

/** Last line of defence: whatever is logged under these names is replaced. */
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

/** Lines wait this long to be written together: a write per call would wake the client once more for each answer. */
const BATCH_MS = 20;
/** The library takes some 15 ms to load: a client that has just started us has its tool list before the first lines. */
const FIRST_MS = 250;
/** As many are written at once, whatever the time. */
const MAX_HELD = 256;

/**
 * Lines are noted at once, with their time, and printed a little later, so that no call waits for its own log line, nor
 * the first answer for the logging library to load. Errors, and from then on warnings, go out as soon as the call that
 * made them ends.
 */
export const createLog = (settings: LogSettings, stderr: { write(text: string): void }): LiveLog => {
  let { format } = settings;
  let threshold = rankOf(settings.level);
  let held: Line[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isUrgent = false;
  let printer: Promise<Print> | undefined;
  let printed = "";

  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    isUrgent = false;
    if (held.length === 0 && printer === undefined) return;
    printer ??= loadPrinter(
      () => format,
      (text) => {
        printed += text;
      },
    );
    const print = await printer;
    const lines = held;
    held = [];
    for (const line of lines) print(line);
    const text = printed;
    printed = "";
    // One write for all of them: each is a call into the kernel.
    if (text !== "") stderr.write(text);
  };

  const note = (level: Level, fields: Fields, message: string): void => {
    if (rankOf(level) < threshold) return;
    held.push({ level, time: Date.now(), fields, message });
    const isPressing = level === "error" || (level === "warn" && printer !== undefined);
    if (!isUrgent && (isPressing || held.length >= MAX_HELD)) {
      isUrgent = true;
      clearTimeout(timer);
      timer = setTimeout(() => void flush(), 0);
    } else timer ??= setTimeout(() => void flush(), printer === undefined ? FIRST_MS : BATCH_MS);
  };

  return {
    debug: (fields, message) => note("debug", fields, message),
    info: (fields, message) => note("info", fields, message),
    warn: (fields, message) => note("warn", fields, message),
    error: (fields, message) => note("error", fields, message),
    configure: (next) => {
      ({ format } = next);
      threshold = rankOf(next.level);
    },
    flush,
  };
};
