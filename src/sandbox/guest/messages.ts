/** What passes between the server and a guest process. Values of programs travel as JSON texts, unread by either side. */

/** Where and why a program failed, as the model is told. */
export interface ProgramError {
  readonly name: string;
  readonly message: string;
  /** In the program as it was written; left out where the failure has no position. */
  readonly line?: number;
  readonly column?: number;
  /** Of a tool call that failed. */
  readonly code?: string;
  readonly retryable?: boolean;
}

/** A failed tool call, as `ToolError` shows it. */
export interface CallFailure {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}

export type ToGuest =
  | {
      readonly type: "run";
      readonly language: string;
      readonly code: string;
      /** JSON. */
      readonly inputs: string;
      readonly maxOutputBytes: number;
      readonly maxResultBytes: number;
      readonly maxFileBytes: number;
    }
  | { readonly type: "settle"; readonly call: number; readonly value: string }
  | { readonly type: "settle"; readonly call: number; readonly failure: CallFailure };

export type FromGuest =
  /** The interpreter is loaded. */
  | { readonly type: "ready" }
  | { readonly type: "output"; readonly text: string }
  | { readonly type: "call"; readonly call: number; readonly name: string; readonly args: string }
  | {
      readonly type: "done";
      /** JSON; left out where the program has no result. */
      readonly result?: string | undefined;
      readonly error?: ProgramError | undefined;
      /** Whether output was dropped. */
      readonly outputCut: boolean;
      readonly files: readonly { readonly name: string; readonly text: string }[];
      /** Whether files were dropped because all of them together are too large. */
      readonly filesCut: boolean;
    };

/** What a guest process is started with, as its one argument. */
export interface GuestSettings {
  readonly memoryBytes: number;
  /** Of JavaScript: the files of the interpreter's modules. */
  readonly quickJs?: { readonly core: string; readonly variant: string };
  /** Of Python: where its files are, and the memory of a started interpreter. */
  readonly pyodideFolder?: string;
  readonly snapshotFile?: string | undefined;
  /** Only write that memory to stdout. */
  readonly makesSnapshot?: boolean;
}
