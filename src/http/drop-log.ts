import type { Drop } from "./admission.ts";

interface DropSink {
  warn(fields: Readonly<Record<string, string | number>>, message: string): void;
}

const WINDOW_MS = 1000;
/** Lines in one window; whoever is refused a thousand times a second does not fill the disk. */
const MAX_LINES = 5;

const MESSAGES: Readonly<Record<Drop, string>> = {
  auth: "a request came without the right token",
  guesses: "an address tried too many wrong tokens",
  rate: "a token sent too many requests",
  lane: "a token has too many calls under way",
};

/** Logs who was turned away, a few a second, and then how many more there were. */
export const createDropLog = (now: () => number, log: DropSink) => {
  let windowEndsAt = 0;
  let lines = 0;
  let unsaid = 0;
  return (why: Drop, fields: Readonly<Record<string, string>>): void => {
    const at = now();
    if (at >= windowEndsAt) {
      windowEndsAt = at + WINDOW_MS;
      lines = 0;
    }
    if (++lines > MAX_LINES) {
      unsaid++;
      return;
    }
    log.warn(unsaid === 0 ? fields : { ...fields, not_logged_before: unsaid }, MESSAGES[why]);
    unsaid = 0;
  };
};
