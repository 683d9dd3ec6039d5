import type { RefusalReason } from "./middleware/authorize.ts";

interface WarningLog {
  warn(fields: Readonly<Record<string, string | number>>, message: string): void;
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

/** Logs refused requests: a few each second, then the number of those that were left out. */
export const createRefusalLog = (now: () => number, log: WarningLog) => {
  let windowEndsAt = 0;
  let lines = 0;
  let omitted = 0;
  return (reason: RefusalReason, fields: Readonly<Record<string, string>>): void => {
    const at = now();
    if (at >= windowEndsAt) {
      windowEndsAt = at + WINDOW_MS;
      lines = 0;
    }
    if (++lines > MAX_LINES) {
      omitted++;
      return;
    }
    log.warn(omitted === 0 ? fields : { ...fields, not_logged_before: omitted }, MESSAGES[reason]);
    omitted = 0;
  };
};
