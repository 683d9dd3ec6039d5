import { isRecord } from "../../base/is-record.ts";
import { readRecord } from "../../observe/audit/chain.ts";
import { type QuietStore, readWhileQuiet } from "./audit-lock.ts";
import type { CheckedChain } from "./check-chain.ts";
import { MAX_LINE_CHARS, readLines } from "./record-files.ts";
import { type AuditPaths, openAuditStore } from "./store.ts";
import { surveyAudit } from "./survey.ts";

/** A record as it was written. */
export type AuditRow = Readonly<Record<string, unknown>>;

/** `isVouched`: a head says that it belongs where it is. Without that it is signed, but may have been moved or put back. */
type Visit = (row: AuditRow, line: string, isVouched: boolean) => void;

const readStore = (store: QuietStore, visit: Visit): number => {
  let unsigned = 0;
  /** Returns whether the line is signed. */
  const show = (line: string, isVouched: boolean): boolean => {
    const value: unknown = readRecord(store.sign, line) === undefined ? undefined : JSON.parse(line);
    if (isRecord(value)) visit(value, line, isVouched);
    else unsigned++;
    return isRecord(value);
  };
  const read = (file: string, each: (line: string) => boolean): void => {
    try {
      readLines(`${store.records?.at}/${file}`, each);
    } catch {
      unsigned++;
    }
  };
  const showUnvouched = (line: string): boolean => {
    show(line, false);
    // What follows is no file of ours any more, and may be of any size.
    return line.length < MAX_LINE_CHARS;
  };
  const readChain = ({ files, vouched, problem }: CheckedChain): void => {
    let left = vouched;
    for (const file of files)
      read(file, (line) => {
        if (left === 0) return problem !== undefined && showUnvouched(line);
        left = show(line, true) ? left - 1 : 0;
        return true;
      });
  };
  const { chains, unread } = surveyAudit(store);
  for (const chain of chains) readChain(chain);
  for (const file of unread) read(file, showUnvouched);
  return unsigned;
};

/**
 * Visits all records, chain by chain, each with the line that it was read from. What is not signed is not visited; returns
 * the number of such lines, and of files that cannot be read.
 */
export const readAudit = async (paths: AuditPaths, visit: Visit): Promise<number> => {
  const store = openAuditStore(paths);
  try {
    return await readWhileQuiet(store, (quiet) => readStore(quiet, visit));
  } finally {
    store.close();
  }
};
