import type { ErrorCode } from "../base/error-table.ts";
import type { Where } from "./subject.ts";

/** What is recorded of a call: sizes and names, never values. */
export interface CallRecord {
  readonly tool: string;
  readonly correlationId: string;
  readonly agentId: string;
  readonly sessionId: string;
  readonly model: string;
  /** What the operator may charge the call to; empty where nobody said. */
  readonly budgetProfile: string;
  readonly transport: string;
  /** The endpoint or method that it came by. */
  readonly route: string;
  /** Of what it was about; built only where it is written down. */
  readonly where: () => Where;
  readonly durationMs: number;
  readonly truncated: boolean;
  /** It ended with a question to its user, and is made again with the answer: that one counts. */
  readonly isQuestion: boolean;
  readonly errorCode: ErrorCode | undefined;
  readonly traceId: string | undefined;
  /** The cause of an error; only its type, code and stack frames are logged. */
  readonly cause: unknown;
}

/** The texts of a call, built only if they are measured. They are counted, never stored. */
export interface CallTexts {
  input(): string;
  output(): string;
}

export interface CallTrace {
  readonly traceId: string | undefined;
  end(tool: string, errorCode: string | undefined): void;
}
