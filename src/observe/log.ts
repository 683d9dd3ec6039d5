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

const LEVELS = ["trace", "debug", "info", "warn", "error", "silent"];

const asText = (line: string): string => {
  const { level, time, msg, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const fields = Object.entries(rest).map(
    ([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return `${String(time)} ${String(level).toUpperCase()} ${String(msg)}${fields.length === 0 ? "" : ` ${fields.join(" ")}`}\n`;
};

/** Last line of defence: whatever is logged under these names is replaced. */
const REDACTED = ["token", "authorization", "password", "secret", "api_key"];

const loadPrinter = async (
  format: () => LogSettings["format"],
  write: (text: string) => void,
): Promise<Print> => {
  const { pino } = await import("pino");
  const logger = pino(
    {
      level: "trace",
      base: null,
      timestamp: false,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED, censor: "[redacted]" },
    },
    { write: (line: string) => write(format() === "text" ? asText(line) : line) },
  );
  return ({ level, time, fields, message }) =>
    logger[level](
      { time: new Date(time).toISOString(), ...(typeof fields === "function" ? fields() : fields) },
      message,
    );
};

/** Lines wait this long to be written together: a write per call would wake the client once more for each answer. */
const BATCH_MS = 20;
/** As many are written at once, whatever the time. */
const MAX_HELD = 256;

/**
 * Lines are noted at once, with their time, and printed a little later, so that no call waits for its own log line, nor
 * the first answer for the logging library to load. Warnings and errors go out as soon as the call that made them ends.
 */
export const createLog = (settings: LogSettings, stderr: { write(text: string): void }): LiveLog => {
  let { level, format } = settings;
  let held: Line[] = [];
  let timer: NodeJS.Timeout | undefined;
  let printer: Promise<Print> | undefined;
  let printed = "";

  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
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

  const note = (lineLevel: Level, fields: Fields, message: string): void => {
    if (LEVELS.indexOf(lineLevel) < LEVELS.indexOf(level)) return;
    held.push({ level: lineLevel, time: Date.now(), fields, message });
    const isUrgent = lineLevel === "warn" || lineLevel === "error" || held.length >= MAX_HELD;
    if (isUrgent) {
      clearTimeout(timer);
      timer = setTimeout(() => void flush(), 0);
    } else timer ??= setTimeout(() => void flush(), BATCH_MS);
  };

  return {
    debug: (fields, message) => note("debug", fields, message),
    info: (fields, message) => note("info", fields, message),
    warn: (fields, message) => note("warn", fields, message),
    error: (fields, message) => note("error", fields, message),
    configure: (next) => {
      ({ level, format } = next);
    },
    flush,
  };
};
