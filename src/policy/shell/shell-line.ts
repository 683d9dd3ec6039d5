import type { ParameterChange } from "./parameter.ts";

/** A piece of a word. Only unquoted text is subject to braces, `~` and globs, only unquoted values to splitting. */
export type WordPart =
  | {
      readonly kind: "text";
      readonly text: string;
      readonly isQuoted: boolean;
      /** Written as a command substitution. */
      readonly isSubstituted?: boolean;
      /** And bash would make several words of it, or none, except in an assignment. */
      readonly isSplit?: boolean;
    }
  | {
      readonly kind: "variable";
      readonly name: string;
      readonly isQuoted: boolean;
      /** Written as `$NAME`: letters that braces put behind it would belong to the name. */
      readonly isBare: boolean;
      readonly change?: ParameterChange;
    };

export type ShellWord = readonly WordPart[];

/** `>| file` and `> file` are the same here; `&> file` is a file for 1 and a copy of 1 for 2. */
export type Redirection =
  | {
      readonly kind: "file";
      readonly fd: number;
      readonly access: "read" | "write" | "append";
      readonly target: ShellWord;
    }
  | { readonly kind: "copy"; readonly fd: number; readonly of: number }
  /** A here-string or here-document. */
  | { readonly kind: "input"; readonly content: ShellWord };

export interface Assignment {
  readonly name: string;
  readonly value: ShellWord;
  /** Behind `export`: it reaches the programs of the rest of the line. */
  readonly isExported: boolean;
}

export interface ShellCommand {
  readonly assignments: readonly Assignment[];
  /** Empty: only assignments or redirections. */
  readonly args: readonly ShellWord[];
  readonly redirections: readonly Redirection[];
}

/** A group as a part of a pipeline, or with redirections. */
export interface PipedGroup {
  readonly isSubshell: boolean;
  readonly line: ShellLine;
  readonly redirections: readonly Redirection[];
}

export type PipelinePart = ShellCommand | PipedGroup;

export const isPipedGroup = (part: PipelinePart): part is PipedGroup => "line" in part;

export interface Pipeline {
  readonly kind: "pipeline";
  readonly isNegated: boolean;
  readonly commands: readonly [PipelinePart, ...PipelinePart[]];
}

/** `( … )`, whose `cd` and assignments end with it, or `{ …; }`, on its own. */
export interface Group {
  readonly kind: "group";
  readonly isSubshell: boolean;
  readonly isNegated: boolean;
  readonly line: ShellLine;
}

/** The shell knows no precedence between `&&` and `||`: each step looks at the exit code before it. */
export interface ShellStep {
  readonly when: "always" | "success" | "failure";
  readonly body: Pipeline | Group;
}

export type ShellLine = readonly ShellStep[];
