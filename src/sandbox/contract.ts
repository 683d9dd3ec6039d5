import type { CallFailure, ProgramError } from "./guest/messages.ts";

export const LANGUAGES = ["javascript", "typescript", "python"] as const;
export type Language = (typeof LANGUAGES)[number];

export interface ProgramLimits {
  /** From the program's start, not the interpreter's. */
  readonly timeoutMs: number;
  readonly cpuMs: number;
  readonly maxOutputBytes: number;
  readonly maxResultBytes: number;
  readonly maxFileBytes: number;
  readonly maxToolCalls: number;
}

export interface Program {
  readonly language: Language;
  readonly code: string;
  /** JSON. */
  readonly inputs: string;
  readonly limits: ProgramLimits;
}

/** How a tool call of a program ended: its value as JSON, or what `ToolError` shows. */
export type CallAnswer = { readonly value: string } | { readonly failure: CallFailure };

/** What a running program asks for; the arguments are JSON that nobody has checked yet. */
export type CallTool = (name: string, args: string, signal: AbortSignal) => Promise<CallAnswer>;

/** A tool call as the result of a program lists it. */
export interface CallRecord {
  readonly name: string;
  readonly durationMs: number;
  readonly ok: boolean;
}

/** Why a program was ended before it was done. */
export type Ended = "timeout" | "cpu" | "memory" | "output" | "tool_calls" | "crash" | "protocol";

export interface ProgramResult {
  readonly output: string;
  readonly outputCut: boolean;
  /** JSON; undefined where the program has no result or failed. */
  readonly result: string | undefined;
  readonly error: (ProgramError & { readonly ended?: Ended }) | undefined;
  readonly calls: readonly CallRecord[];
  readonly files: readonly { readonly name: string; readonly text: string }[];
  readonly filesCut: boolean;
  /** Of the program alone. */
  readonly durationMs: number;
}

/**
 * One interpreter in a process of its own: runs programs one after the other, which share its variables. Every runner
 * has to pass the same suite of tests.
 */
export interface Guest {
  /** Whether it can run another program. */
  isAlive(): boolean;
  /** The failure of a program is a result; this rejects only with the reason of the signal. */
  run(program: Program, callTool: CallTool, signal: AbortSignal): Promise<ProgramResult>;
  /** Stops the clock of the running program while its user is asked something. */
  pause(): void;
  resume(): void;
  /** Ends the process; what runs in it fails. */
  kill(): Promise<void>;
}

/** Starts guests of some languages. */
export interface Runner {
  readonly name: string;
  readonly languages: readonly Language[];
  /** Resolves when the interpreter is loaded. */
  start(): Promise<Guest>;
}
