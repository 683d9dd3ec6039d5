import type { LlmcError } from "../base/error.ts";

/** A program that is about to be started, as the gate found it. */
export interface ProgramRequest {
  /** The name it is started under. */
  readonly program: string;
  /** The name of its file, where links lead to another one: a policy about either decides. */
  readonly realName: string;
  /** Undefined if the operator allows it already. */
  readonly needs: ProgramNeeds | undefined;
  /** Earlier programs of the line have run: nobody is asked, because the line cannot begin again. */
  readonly isMidway?: boolean;
}

/** What somebody has to agree to before a program may be started. */
export interface ProgramNeeds {
  /** Its file, where it would have to be allowed first, and where links lead from there. */
  readonly path: string | undefined;
  readonly realPath: string | undefined;
  /** Folders that it could read besides the roots. */
  readonly readPaths: readonly string[];
  /** Powers that its arguments need and that were not granted, as PROGRAM:POWER. */
  readonly powers: readonly string[];
  /** What allowing it means, for the person who is asked. */
  readonly meaning: readonly string[];
  /** Names its content, where callers can change that. */
  readonly content: string;
  /** How it is refused where nobody agrees. */
  readonly refusal: LlmcError;
}

/**
 * Decides whether a caller may start a program: returns if so, throws otherwise, and also where the user has to be asked
 * first. Policy speaks last, so that an operator's policy can forbid what the allowlist allows.
 */
export type PermitProgram = (request: ProgramRequest) => void;

/**
 * Decides whether a command line may read or write files by itself: redirections, patterns and built-in commands. Returns if
 * so, throws otherwise.
 */
export type PermitFiles = (effect: "read" | "write") => void;

/** A path outside the roots that one call may read nevertheless. */
export interface GrantedPath {
  /** As the caller wrote it, absolute. */
  readonly path: string;
  /** Where it led when it was decided on: only what lies there is read, wherever the path leads by then. */
  readonly realPath: string;
}

/** What one call may read besides the roots. */
export interface GrantedPaths {
  readonly paths: readonly GrantedPath[];
  /** Whether a policy forbids this file or folder: what is granted is a folder with everything in it, but for that. */
  readonly forbids: (path: string) => boolean;
}

/** Text that is about to be sent to a model. */
export interface HostRequest {
  readonly host: string;
  /** How the configuration refuses it; undefined if it lets text go there. */
  readonly refusal: LlmcError | undefined;
}

/** The same for a host: returns if policy lets text go there, throws otherwise. */
export type PermitHost = (request: HostRequest) => void;
