import { LlmcError } from "../../base/error.ts";
import { compileGlob, type GlobMatch } from "../../policy/globs.ts";
import { STATE_DIR } from "../../policy/paths.ts";
import type { ContentQuery, NameQuery } from "./contract.ts";

const MAX_PATTERN_BYTES = 8 * 1024;
const MAX_GLOB_BYTES = 1024;

/** What is searched: everything below the working directory, what is given as standard input, or single files. */
export type Target = "./" | "-" | readonly string[];

const badArgument = (field: string, message: string, hint: string): LlmcError =>
  new LlmcError("invalid_args", message, { hint, details: { field } });

export const checkPattern = (pattern: string): void => {
  if (pattern === "") throw badArgument("pattern", "The pattern is empty.", "Say what to search for.");
  if (Buffer.byteLength(pattern) > MAX_PATTERN_BYTES) {
    throw badArgument("pattern", `The pattern is over ${MAX_PATTERN_BYTES} bytes.`, "Use a part of it.");
  }
  if (pattern.includes("\0")) {
    throw badArgument("pattern", "The pattern contains a NUL byte.", "Only text is searched.");
  }
};

/** Whether a pattern can match more than one line: a newline, or a dot that matches one. */
export const isMultiline = ({ pattern, literal }: Pick<ContentQuery, "pattern" | "literal">): boolean =>
  pattern.includes("\n") || (!literal && /\\n|\(\?[a-z]*s[a-z]*[:)-]/.test(pattern));

/** How a file glob reaches ripgrep, and what is left to check here. */
export interface FileFilter {
  readonly args: readonly string[];
  /** On the path below the root. */
  readonly isMeant: GlobMatch;
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/**
 * A type, and not `--glob`, which would also bring in what ignore files leave out. Types speak of names alone, and
 * their definitions give the colon a meaning.
 */
const asType = (nameGlob: string): string[] => {
  const isWhole = nameGlob.split("{").length === nameGlob.split("}").length;
  const isSelective = isWhole && !nameGlob.includes(":") && !/^\**$/.test(nameGlob);
  return isSelective ? [`--type-add=llmc:${nameGlob}`, "--type=llmc"] : [];
};

export const createFileFilter = (glob: string | undefined, ignoreFiles: boolean): FileFilter => {
  if (glob === undefined) return { args: [], isMeant: () => true };
  if (glob === "" || glob === "!" || glob.includes("\0") || Buffer.byteLength(glob) > MAX_GLOB_BYTES) {
    throw badArgument(
      "file_glob",
      "The file glob is empty, too long or has a NUL byte.",
      "Use one such as *.ts.",
    );
  }
  if (glob.startsWith("!")) return { args: [`--glob=${glob}`], isMeant: () => true };
  const matches = compileGlob(glob);
  const nameGlob = nameOf(glob);
  // A type brings in hidden files too.
  const seesHidden = !ignoreFiles || nameGlob.startsWith(".");
  return {
    args: asType(nameGlob),
    isMeant: (path) => matches(path) && (seesHidden || !nameOf(path).startsWith(".")),
  };
};

// No file of the operator's or the workspace's sets an option or names a program to run, and nothing outside the
// directories above the root decides what is ignored.
const ALWAYS = [
  "--no-config",
  "--no-ignore-messages",
  "--color=never",
  "--no-ignore-global",
  "--no-require-git",
  `--glob=!${STATE_DIR}`,
];
const EVERYTHING = ["--no-ignore", "--hidden", "--glob=!.git"];

const walkArgs = ({ ignoreFiles }: { readonly ignoreFiles: boolean }, rootPath: string): string[] => [
  ...ALWAYS,
  ...(ignoreFiles ? [] : EVERYTHING),
  ...(rootPath === "/" ? ["--glob=!/proc", "--glob=!/sys"] : []),
];

/**
 * Line numbers grouped by file, and next to nothing of the lines: what is shown is read through the file port. A line
 * over one byte is replaced by a short remark.
 */
const RECORDS = ["--heading", "--with-filename", "--null", "--line-number", "--max-columns=1"];

// The default lets a short pattern take 100 MB and a second before it is refused.
const LIMITS = ["--regex-size-limit=10M", "--dfa-size-limit=100M"];

/** Only JSON output shows where one match of several lines ends and the next begins. */
const MULTILINE = ["--multiline", "--json"];

export const contentArgs = (
  query: ContentQuery,
  filter: Pick<FileFilter, "args">,
  rootPath: string,
  target: Target,
  form: "lines" | "columns" = "lines",
): string[] => [
  ...walkArgs(query, rootPath),
  ...filter.args,
  ...(isMultiline(query) ? MULTILINE : RECORDS),
  ...(form === "columns" ? ["--column"] : []),
  ...LIMITS,
  query.ignoreCase ? "--ignore-case" : "--case-sensitive",
  ...(query.literal ? ["--fixed-strings"] : []),
  // With its name and an equals sign nothing of it can be taken for an option.
  `--regexp=${query.pattern}`,
  "--",
  ...(typeof target === "string" ? [target] : target),
];

/** Of a text on standard input, whose case does not count, as in searches of files. */
export const textArgs = (pattern: string): string[] => [
  ...ALWAYS,
  ...RECORDS,
  "--column",
  "--text",
  ...LIMITS,
  "--ignore-case",
  `--regexp=${pattern}`,
  "--",
  "-",
];

// Two walkers spend half their time waiting for each other; eight list a tree in half the time, also on two cores.
const NAME_WALKERS = "--threads=8";

export const nameArgs = (query: NameQuery, filter: FileFilter, rootPath: string): string[] => [
  ...walkArgs(query, rootPath),
  ...filter.args,
  NAME_WALKERS,
  "--files",
  "--null",
  "--",
  "./",
];
