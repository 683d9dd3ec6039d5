import type { LlmcError } from "../base/error.ts";

/** A program that is about to be started, as the gate understood it. */
export interface ProgramRequest {
  /** The name it is started under. */
  readonly program: string;
  readonly argv: readonly string[];
  /** Its file, where it would have to be allowed first. */
  readonly path: string | undefined;
  readonly allowlisted: boolean;
  /** Powers that its arguments need and that were not granted, as PROGRAM:POWER. */
  readonly missingPowers: readonly string[];
  /** What allowing it means, for the person who is asked. */
  readonly meaning: readonly string[];
  /** How it is refused where nobody lifts that; undefined if the operator allows it already. */
  readonly refusal: LlmcError | undefined;
}

/**
 * Decides whether a caller may start a program: returns if so, throws otherwise, and also where the user has to be asked
 * first. Policy speaks last, so that an operator's policy can forbid what the allowlist allows.
 */
export type PermitProgram = (request: ProgramRequest) => void;
