import { isRecord } from "../../base/is-record.ts";
import { readLines, recordFiles } from "./record-files.ts";
import { type AuditPaths, auditBusy, openAuditStore, withAuditLock } from "./store.ts";

/** A record as it was written. */
export type AuditRow = Readonly<Record<string, unknown>>;

const WAIT_MS = 10_000;

const parse = (line: string): AuditRow | undefined => {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

/**
 * Visits all records, chain by chain, each with the line that it was read from. It proves nothing: that is `verifyAudit`'s
 * part. Gives the number of lines and files that cannot be read.
 */
export const readAudit = async (
  paths: AuditPaths,
  visit: (row: AuditRow, line: string) => void,
): Promise<number> => {
  const store = openAuditStore(paths);
  try {
    const done = await withAuditLock(store, WAIT_MS, () => {
      let unreadable = 0;
      for (const { name } of recordFiles(store))
        try {
          readLines(`${store.records?.at}/${name}`, (line) => {
            const row = parse(line);
            if (row === undefined) unreadable++;
            else visit(row, line);
            return true;
          });
        } catch {
          unreadable++;
        }
      return unreadable;
    });
    if (done === undefined) throw auditBusy();
    return done.value;
  } finally {
    store.close();
  }
};
