import { csvCell } from "../base/text.ts";
import type { CountTokens } from "../base/tokens.ts";
import type { CallRecord, CallTexts } from "./records.ts";

interface AuditDisk {
  /** `header` comes first where the file is empty. */
  appendText(path: string, text: string, header: string): Promise<void>;
  /** Loses nothing that other servers add meanwhile. */
  rewrite(path: string, change: (text: string) => string): Promise<void>;
}

interface AuditParts {
  /** Loads the tokenizer, which takes time and memory, on first use. */
  readonly tokenCounter: () => Promise<CountTokens>;
  readonly disk: AuditDisk;
  readonly path: () => string;
  readonly today: () => Date;
  readonly onCounted: (input: number, output: number) => void;
  readonly onError: (error: unknown) => void;
}

export const AUDIT_HEADER =
  "timestamp,correlation_id,agent_id,session_id,model,tool,tokens_in,tokens_out,duration_ms,error_code,budget_profile";

const cell = (value: string | number): string => (typeof value === "number" ? String(value) : csvCell(value));

const DAY_MS = 86_400_000;

export type TokenAudit = ReturnType<typeof createTokenAudit>;

/** Writes one CSV line per call, with exact token counts, in order and after the reply. */
export const createTokenAudit = ({ tokenCounter, disk, path, today, onCounted, onError }: AuditParts) => {
  let last: Promise<void> = Promise.resolve();

  const enqueue = (work: () => Promise<void>): void => {
    last = last.then(work).catch(onError);
  };

  const append = async (
    record: CallRecord,
    input: string,
    output: string,
    timestamp: string,
  ): Promise<void> => {
    const count = await tokenCounter();
    const tokensIn = count(input);
    const tokensOut = count(output);
    onCounted(tokensIn, tokensOut);
    const line = [
      timestamp,
      record.correlationId,
      record.agentId,
      record.sessionId,
      record.model,
      record.tool,
      tokensIn,
      tokensOut,
      Math.round(record.durationMs * 100) / 100,
      record.errorCode ?? "",
      record.budgetProfile,
    ].map(cell);
    await disk.appendText(path(), `${line.join(",")}\n`, `${AUDIT_HEADER}\n`);
  };

  return {
    record: (record: CallRecord, texts: CallTexts): void => {
      const input = texts.input();
      const output = texts.output();
      const timestamp = today().toISOString();
      enqueue(() => append(record, input, output, timestamp));
    },
    /** Deletes lines older than the retention; 0 days keeps all. */
    prune: (retentionDays: number): Promise<void> => {
      enqueue(async () => {
        if (retentionDays === 0) return;
        const oldest = new Date(today().getTime() - retentionDays * DAY_MS).toISOString();
        await disk.rewrite(path(), (text) => {
          const [header = AUDIT_HEADER, ...lines] = text.split("\n");
          const kept = lines.filter((line) => line !== "" && line >= oldest);
          return [header, ...kept, ""].join("\n");
        });
      });
      return last;
    },
    /** Resolves when every line so far is on disk. */
    flush: (): Promise<void> => last,
  };
};
