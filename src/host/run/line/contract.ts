import type { ReachedLimit } from "../../../base/limit-notes.ts";
import type { ExpansionBudget } from "../../../policy/shell/expansion-budget.ts";
import type { Access } from "../../reach/access.ts";
import type { CommandSession, TrustedExecutable } from "../contract.ts";
import type { Quarantined } from "../scan/quarantined.ts";
import type { Tier } from "../tiers/contract.ts";

export type Argv = readonly [string, ...string[]];

/** What expanding the words of one line takes. */
export interface Expansion {
  readonly access: Access;
  readonly budget: ExpansionBudget;
  /** Ends with the caller's patience and with the line's deadline. */
  readonly signal: AbortSignal | undefined;
}

export interface LineCall {
  /** A command line as people write it, or one program and its arguments, taken as they are. */
  readonly command: string | readonly string[];
  /** As the caller wrote it; by default, the workspace. */
  readonly cwd: string | undefined;
  /** For the whole line. */
  readonly timeoutSeconds: number | undefined;
  /** The caller's scopes: redirections read and write as the caller. */
  readonly may: ReadonlySet<string>;
  /** Principals take turns where commands have to wait. */
  readonly session?: (CommandSession & { readonly principal: string }) | undefined;
  /** The program, where it is a script that the operator made a tool of. */
  readonly executable?: TrustedExecutable | undefined;
  readonly onOutput?: ((stream: "stdout" | "stderr", chunk: Buffer) => void) | undefined;
}

export interface ProgramEnd {
  readonly name: string;
  readonly exitCode: number;
}

/** A path in an argument that is not to a program what it is to the user. */
export type UnseenPath =
  /** Of what lies above the roots, only the way to them is there. */
  | { readonly kind: "outside" | "above"; readonly path: string }
  /** In the program's own `/tmp`; whether it is one that writes. */
  | { readonly kind: "temporary"; readonly path: string; readonly isWriter: boolean };

export interface LineOutcome {
  /** Of the last program; undefined where a signal ended it. */
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly timedOut: boolean;
  /** Null where no program was started. */
  readonly tier: Tier | null;
  readonly limit: ReachedLimit | undefined;
  readonly quarantined: readonly Quarantined[];
  /** Arguments of which programs see something else than the user, if they are paths. */
  readonly unseen?: readonly UnseenPath[];
  /** Where programs ran; names in their messages begin there. */
  readonly folders?: readonly string[];
  /** What programs leave out here that they do in the user's terminal. */
  readonly notes?: readonly string[];
  /** Every program that ran, in the order of the line. */
  readonly programs: readonly ProgramEnd[];
  /** The one program whose output the line's output is; undefined where several had a part in it. */
  readonly sole: Argv | undefined;
}

/** One program with everything that the line says about how to start it. */
export interface SingleProgram {
  readonly command: Argv;
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
}

export interface LineRunner {
  run(call: LineCall, signal?: AbortSignal): Promise<LineOutcome>;
  /** For a program that is to run on by itself: the line may change directory and set variables, and start one program. */
  single(
    call: Pick<LineCall, "cwd" | "may" | "session"> & { readonly command: string },
    signal?: AbortSignal,
  ): Promise<SingleProgram>;
}
