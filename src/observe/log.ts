import { type DestinationStream, pino } from "pino";

type Fields = Readonly<Record<string, unknown>>;

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

interface LiveLog extends Log {
  /** Level and format are hot. */
  configure(settings: LogSettings): void;
}

const asText = (line: string): string => {
  const { level, time, msg, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const fields = Object.entries(rest).map(
    ([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return `${String(time)} ${String(level).toUpperCase()} ${String(msg)}${fields.length === 0 ? "" : ` ${fields.join(" ")}`}\n`;
};

/** Last line of defence: whatever is logged under these names is replaced. */
const REDACTED = [
  "token",
  "authorization",
  "password",
  "secret",
  "api_key",
  "*.token",
  "*.authorization",
  "*.password",
  "*.secret",
];

export const createLog = (settings: LogSettings, stderr: { write(text: string): void }): LiveLog => {
  let format = settings.format;
  const destination: DestinationStream = {
    write: (line) => stderr.write(format === "text" ? asText(line) : line),
  };
  const logger = pino(
    {
      level: settings.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED, censor: "[redacted]" },
    },
    destination,
  );
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    configure: (next) => {
      logger.level = next.level;
      format = next.format;
    },
  };
};
