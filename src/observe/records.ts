/** What is recorded of a call: sizes and names, never values. */
export interface CallRecord {
  readonly tool: string;
  readonly correlationId: string;
  readonly agentId: string;
  readonly sessionId: string;
  readonly model: string;
  readonly transport: string;
  readonly durationMs: number;
  readonly truncated: boolean;
  readonly errorCode: string | undefined;
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
