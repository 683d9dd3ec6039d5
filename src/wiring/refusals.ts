import { cleanName } from "../base/text.ts";
import type { AuditTrail } from "../observe/audit/entry.ts";
import type { LiveLog } from "../observe/log.ts";
import { createRefusalLog, type RefusalLog } from "../observe/refusal-log.ts";

interface RefusalParts {
  readonly audit: AuditTrail;
  readonly log: Pick<LiveLog, "warn">;
  readonly now: () => number;
}

const MESSAGES: Readonly<Record<string, string>> = {
  auth: "a request came without a valid token",
  guesses: "an address tried too many wrong tokens",
  rate: "a token sent too many requests",
  lane: "a token has too many calls running or waiting",
  forbidden: "a request was refused by its host, origin or scope",
  malformed: "a malformed request was refused",
};

/** Where a record fails nothing is lost but the record: the request was refused nevertheless. */
const recordRefusal = async (
  audit: AuditTrail,
  reason: string,
  { dropped = 1, transport = "http", detail: _, ...fields }: Readonly<Record<string, string | number>>,
): Promise<void> => {
  try {
    await audit.ready();
    audit.record({
      kind: "refusal",
      reason,
      transport: String(transport),
      ...fields,
      count: Number(dropped),
    });
  } catch {
    // The log has said why.
  }
};

/** The one place where every door writes down what it refused before it became a call: in the log and in the audit. */
export const createRefusals = ({ audit, log, now }: RefusalParts): RefusalLog =>
  createRefusalLog(now, (fields, reason) => {
    log.warn(fields, MESSAGES[reason] ?? "a request was refused");
    void recordRefusal(audit, cleanName(reason), fields);
  });
