/** What passes between the server and a guest process. Values of programs travel as JSON texts, unread by either side. */

/** Where and why a program failed, as the model reads it. */
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
      /** Whether later programs may declare its variables again. */
      readonly sharesVariables: boolean;
      readonly maxOutputBytes: number;
      readonly maxResultBytes: number;
      readonly maxFileBytes: number;
      readonly maxCallBytes: number;
    }
  | { readonly type: "settle"; readonly call: number; readonly value: string }
  | { readonly type: "settle"; readonly call: number; readonly failure: CallFailure };

/** A file of the ephemeral workspace. */
export interface GuestFile {
  readonly name: string;
  /** Bytes, whatever they mean: as text they could grow by six in a frame. */
  readonly base64: string;
}

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
      /** Those that are new or changed since the last program. */
      readonly files: readonly GuestFile[];
      /** Whether files were dropped because there are too many, or all of them together are too large. */
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
  /** Of the machine's own interpreters: folders of packages. */
  readonly packages?: readonly string[];
  /** Only write that memory to stdout. */
  readonly makesSnapshot?: boolean;
}
