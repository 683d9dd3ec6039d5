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
  /** Tool calls that run at once; the others wait in order. By default, eight. */
  readonly maxParallelCalls?: number;
  /** Of the arguments of one tool call. */
  readonly maxCallBytes: number;
}

export interface Program {
  readonly language: Language;
  readonly code: string;
  /** JSON. */
  readonly inputs: string;
  readonly limits: ProgramLimits;
  /** Whether later programs of the same interpreter may declare its variables again, as in a REPL. */
  readonly sharesVariables?: boolean;
}

/** How a tool call of a program ended: its value as JSON, or what `ToolError` shows. */
export type CallAnswer =
  | { readonly value: string; readonly isPartial?: boolean }
  | { readonly failure: CallFailure };

/** What a running program asks for; the arguments are JSON that nobody has checked yet. */
export type CallTool = (name: string, args: string, signal: AbortSignal) => Promise<CallAnswer>;

/** A tool call as the result of a program lists it. */
export interface CallRecord {
  readonly name: string;
  readonly durationMs: number;
  readonly ok: boolean;
  /** Why it failed: a program that does not look at its calls does not say. */
  readonly errorCode?: string;
  /** It was under way when the program ended: whether it had an effect is not known. */
  readonly isCutOff?: true;
  /** Its result is a first page: a program that takes it for the whole computes something wrong. */
  readonly isPartial?: true;
}

/** Why a program was ended before it was done. */
export type Ended = "timeout" | "cpu" | "memory" | "output" | "tool_calls" | "crash" | "protocol";

/** A file that a program left in its ephemeral workspace. */
export interface ProgramFile {
  readonly name: string;
  readonly content: string;
  /** Base64 where the bytes are no valid UTF-8. */
  readonly encoding: "utf8" | "base64";
  /** Of the file itself. */
  readonly bytes: number;
}

export interface ProgramResult {
  readonly output: string;
  readonly outputCut: boolean;
  /** JSON; undefined where the program has no result or failed. */
  readonly result: string | undefined;
  readonly error: (ProgramError & { readonly ended?: Ended }) | undefined;
  readonly calls: readonly CallRecord[];
  /** Those that no earlier program of the same interpreter left as they are. */
  readonly files: readonly ProgramFile[];
  /** Whether files were dropped because there are too many, or all of them together are too large. */
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
  /** Suspends the running program while its user is asked something: its clock stops, and what it sends is not read. */
  pause(): void;
  resume(): void;
  /** Ends the process; what runs in it fails. */
  kill(): Promise<void>;
}

/** Called with what a program waits for before it starts. */
export type OnWait = (what: string) => void;

/** Starts guests of some languages. */
export interface Runner {
  readonly name: string;
  readonly languages: readonly Language[];
  /**
   * Resolves when the interpreter is loaded. Without real isolation it refuses to start one (REQ-D8). Says what it waits for
   * where that takes seconds.
   */
  start(onWait?: OnWait): Promise<Guest>;
}
