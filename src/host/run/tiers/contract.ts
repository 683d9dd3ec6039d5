import type { CommandLimits } from "../tree/limits.ts";
import type { WatchedStreams } from "../tree/run-tree.ts";

/** How well commands are held: by namespaces, by kernel rules on the process itself, or by nothing but our own checks. */
export type Tier = "bubblewrap" | "landlock" | "plain";

export interface CommandRequest extends WatchedStreams {
  /** The program and its arguments, as judged and resolved: the first is the real file to run. */
  readonly argv: readonly [string, ...string[]];
  /**
   * The bare name of that file, where the first match in the command's PATH is the very same: programs put the name that
   * they were called by in front of their messages.
   */
  readonly calledAs?: string | undefined;
  /** Real path of the directory to run in; inside the roots. */
  readonly cwd: string;
  readonly timeoutMs: number;
  /** Added to the clean environment; never inherited. */
  readonly env?: Readonly<Record<string, string>>;
  /** PATH, and where the tool chains of the user's home are; wins over `env`. */
  readonly toolChainEnv?: Readonly<Record<string, string>>;
  /** Set for git: folders that it does not look above for a repository, and settings that win over others. */
  readonly git?:
    | {
        readonly ceilings: readonly string[];
        readonly settings: readonly (readonly [string, string])[];
        /** The only protocols by which it may reach another repository; undefined for any. */
        readonly protocols: string | undefined;
        /** The one that was judged: git does not look for another. */
        readonly repository: { readonly gitDir: string; readonly top: string | undefined } | undefined;
      }
    | undefined;
  /** Whether its streams are a terminal, which it is to control. */
  readonly terminal?: boolean;
}

/** What a command may see and change besides the system's own folders, which are read-only. */
export interface SandboxProfile {
  /** Real paths that may be written. */
  readonly writable: readonly string[];
  /** Real paths that may only be read: all roots of a command that writes nothing, a tool chain elsewhere. */
  readonly readableRoots?: readonly string[];
  /** Real paths inside the writable ones that stay read-only: what is obeyed or executed. */
  readonly protectedInside: readonly string[];
  /** Of those, what others may replace meanwhile: changes wait for trust, or are judged in another way. */
  readonly replaceable?: readonly string[];
  /** Real paths inside those that are writable nevertheless: the repository that git works on, inside another. */
  readonly writableAgain?: readonly string[];
  /** Folders that look empty: state. */
  readonly hidden: readonly string[];
  /** Folders that look empty but for the readable paths in them: roots, to a program that works without them. */
  readonly emptied?: readonly string[];
  /** Real paths inside whose content is withheld, where they are there: a file is empty, a folder closed. */
  readonly withheld?: readonly string[];
  /** Withheld files refuse to be opened instead of being empty: git would take an emptied file for a change. */
  readonly refusesWithheld?: boolean;
  readonly network: boolean;
  /** The program may not start other programs. */
  readonly noFork?: boolean;
  readonly limits?: CommandLimits;
}
