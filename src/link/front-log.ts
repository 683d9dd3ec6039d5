import { LinkBroken } from "./link-broken.ts";
import type { LinkClient } from "./link-client.ts";
import { type LogEntry, MAX_LOG_CHARS, MAX_LOG_COUNT, MAX_LOG_ENTRIES } from "./request.ts";
import { SINCE } from "./schema-version.ts";

/** As long as the audit trail collects records of reads. */
const FLUSH_MS = 20;
const RETRY_MS = 250;
/** Of the time that a front has to end. */
const MAX_CLOSE_MS = 500;

/** Stands for the reasons that do not fit into one message. */
const OTHERS = "several reasons";

/**
 * Sends the core what a front reports, a few entries at a time: lines for the log, which may be lost, and refusals, which
 * are sent again until the core has received them, because it records them in the audit.
 */
export const createFrontLog = ({ post, speaks }: Pick<LinkClient, "post" | "speaks">) => {
  let lines: LogEntry[] = [];
  const refused = new Map<string, number>();
  let sending: Promise<void> | undefined;
  let isClosed = false;

  const count = (reason: string, more: number): void => {
    const key = refused.has(reason) || refused.size < MAX_LOG_ENTRIES / 2 - 1 ? reason : OTHERS;
    refused.set(key, Math.min(MAX_LOG_COUNT, (refused.get(key) ?? 0) + more));
  };

  /** An older core has lines only. */
  const entryOf = ([message, times]: readonly [string, number]): LogEntry =>
    speaks(SINCE.refusals)
      ? { kind: "refusal", message, count: times }
      : { level: "warn", message: `message refused: ${message}`.slice(0, MAX_LOG_CHARS) };

  /** False if it may be tried again. */
  const send = async (): Promise<boolean> => {
    const taken = [...refused];
    const entries = [...taken.map(entryOf), ...lines];
    refused.clear();
    lines = [];
    if (entries.length === 0) return true;
    try {
      await post("/v1/log", JSON.stringify({ entries }));
      return true;
    } catch (thrown) {
      // A core whose connection broke may have recorded them already: better twice than not at all.
      if (!(thrown instanceof LinkBroken)) return true;
      for (const [reason, times] of taken) count(reason, times);
      return false;
    }
  };

  const flush = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, FLUSH_MS));
    while (!isClosed && (refused.size > 0 || lines.length > 0))
      if (!(await send())) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    sending = undefined;
  };
  const flushSoon = (): void => {
    sending ??= flush();
  };

  return {
    warn: (message: string): void => {
      if (lines.length >= MAX_LOG_ENTRIES / 2) return;
      lines.push({ level: "warn", message: message.slice(0, MAX_LOG_CHARS) });
      flushSoon();
    },
    /** A message of the client was not passed on; the reason never quotes it. */
    refused: (reason: string): void => {
      count(reason.slice(0, MAX_LOG_CHARS), 1);
      flushSoon();
    },
    /** Resolves when the core has received everything, or does not answer. */
    close: async (): Promise<void> => {
      if (sending !== undefined)
        await Promise.race([sending, new Promise((resolve) => setTimeout(resolve, MAX_CLOSE_MS).unref())]);
      isClosed = true;
    },
  };
};
