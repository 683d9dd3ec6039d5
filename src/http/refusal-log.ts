import type { RefusalReason } from "./middleware/authorize.ts";

interface WarningLog {
  warn(fields: Readonly<Record<string, string | number>>, message: string, reason: RefusalReason): void;
}

const WINDOW_MS = 1000;
/** Lines per window, so that a client that is refused a thousand times a second does not fill the disk. */
const MAX_LINES = 5;

const MESSAGES: Readonly<Record<RefusalReason, string>> = {
  auth: "a request came without a valid token",
  guesses: "an address tried too many wrong tokens",
  rate: "a token sent too many requests",
  lane: "a token has too many calls running or waiting",
};

interface Dropped {
  readonly reason: RefusalReason;
  /** Of the last one: a line that stands for many names one of them. */
  fields: Readonly<Record<string, string>>;
  count: number;
}

/** Logs refused requests: a few each second, and at its end the sum of the others, by reason and by who was refused. */
export const createRefusalLog = (now: () => number, log: WarningLog) => {
  let windowEndsAt = 0;
  let lines = 0;
  let dropped = new Map<string, Dropped>();

  const sumUp = (): void => {
    const all = dropped;
    dropped = new Map();
    for (const { reason, fields, count } of all.values())
      log.warn({ ...fields, dropped: count }, MESSAGES[reason], reason);
  };

  const drop = (reason: RefusalReason, fields: Readonly<Record<string, string>>, at: number): void => {
    if (dropped.size === 0) setTimeout(sumUp, windowEndsAt - at).unref();
    const key = `${reason} ${fields["token_name"] ?? ""}`;
    const known = dropped.get(key) ?? { reason, fields, count: 0 };
    known.count++;
    known.fields = fields;
    dropped.set(key, known);
  };

  return (reason: RefusalReason, fields: Readonly<Record<string, string>>): void => {
    const at = now();
    if (at >= windowEndsAt) {
      windowEndsAt = at + WINDOW_MS;
      lines = 0;
    }
    if (++lines > MAX_LINES) drop(reason, fields, at);
    else log.warn(fields, MESSAGES[reason], reason);
  };
};
