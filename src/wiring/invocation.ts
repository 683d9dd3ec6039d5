import type { Actions } from "../cli/actions.ts";
import type { Io } from "../cli/io.ts";
import type { Start } from "./request.ts";

/** One run of the command line: how it was started, and the terminal it speaks to. */
export interface Invocation extends Start {
  readonly io: Io;
  setExitCode(code: number): void;
}

/** Some of the commands, for one run. */
export type ActionsOf<Names extends keyof Actions> = (run: Invocation) => Pick<Actions, Names>;
