export type RunnerName = "pytest" | "vitest" | "jest" | "node:test" | "cargo" | "go";

/** A test that did not pass. */
export interface TestFailure {
  readonly name: string;
  /** Null where the runner did not say. */
  readonly file: string | null;
  readonly line: number | null;
  /** What was expected, and what came instead; a few lines at most. */
  readonly message: string;
}

/** Among the notes: totals of zero would look like success. */
export const NO_TESTS = "no tests ran";

/** The result of a test run, as its runner reports it. */
export interface TestReport {
  readonly runner: RunnerName;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What kept tests from running: files that do not load, code that does not compile. */
  readonly errors: number;
  readonly failures: readonly TestFailure[];
  /** Beyond totals and failures: duration, warnings, hints of the runner. */
  readonly notes: readonly string[];
  /** What tests, and other programs of the same script, wrote besides; in short where it is long. */
  readonly other?: string;
}

/** Undefined if this is not output of that runner. */
export type ParseTests = (output: string) => TestReport | undefined;

/** No runner writes a line of its own that is longer; what a test prints may be, and stays whole in the handle. */
const MAX_LINE_CHARS = 2000;

export const boundedLines = (output: string): readonly string[] =>
  output.split("\n").map((line) => (line.length > MAX_LINE_CHARS ? line.slice(0, MAX_LINE_CHARS) : line));

/** The one way to make a parser: it sees lines of bounded length, whatever a test prints. */
export const parserOf =
  (parse: (lines: readonly string[]) => TestReport | undefined): ParseTests =>
  (output) =>
    parse(boundedLines(output));
