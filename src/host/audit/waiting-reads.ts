import type { AuditEntry } from "../../observe/audit/entry.ts";

/** Reads are recorded together, after their answers: this many, or those of this many milliseconds. */
const MAX_WAITING = 64;
const MAX_WAIT_MS = 20;

interface WaitingParts {
  readonly now: () => Date;
  readonly write: (entry: AuditEntry, recordedAt: Date) => void;
  /** Some records, in number, could not be written. */
  readonly onFailure: (error: unknown, records: number) => void;
}

/** Records of reads that are written after their answers, in order. */
export const createWaitingReads = ({ now, write, onFailure }: WaitingParts) => {
  const waiting: { readonly make: () => AuditEntry; readonly at: Date }[] = [];
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    let written = 0;
    try {
      for (const { make, at } of waiting) {
        write(make(), at);
        written++;
      }
    } catch (error) {
      onFailure(error, waiting.length - written);
    } finally {
      waiting.length = 0;
    }
  };
  const add = (make: () => AuditEntry): void => {
    waiting.push({ make, at: now() });
    if (waiting.length >= MAX_WAITING) flush();
    else timer ??= setTimeout(flush, MAX_WAIT_MS).unref();
  };
  return { add, flush };
};
