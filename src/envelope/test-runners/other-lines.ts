import { boundedLines, type RunnerName, type TestReport } from "./contract.ts";
import { PYTEST_TOTALS } from "./pytest.ts";

/** Lines from one to another; the last belongs to them if it is `through`. */
interface Part {
  readonly from: RegExp;
  readonly to: RegExp;
  readonly through?: boolean;
}

interface Pattern {
  readonly test: (line: string) => boolean;
}

/** What a runner writes by itself, and the report already tells. */
interface OwnLines {
  readonly lines: Pattern;
  readonly parts: readonly Part[];
  /** One for each test or file: counted, unless names were asked for. */
  readonly results: Pattern;
  readonly resultParts?: readonly Part[];
}

const PYTEST_SECTION = /^=+ \S.* =+$/;

const anyOf = (...patterns: readonly RegExp[]): Pattern => ({
  test: (line) => patterns.some((pattern) => pattern.test(line)),
});

const OWN: Readonly<Record<RunnerName, OwnLines>> = {
  pytest: {
    lines: anyOf(
      PYTEST_TOTALS,
      /^(?:collecting \.\.\. *)?(?:collected \d+ items?\b.*)?$/,
      /^=+ short test summary info =+$/,
      /^(?:FAILED|ERROR) \S+(?: .{0,1000}\]| - .*)?$/,
      // Progress, and what a worker says of itself.
      /^(?:\S+\.py )?[.FEsxXpPR,]+(?: +\[ *\d+%\])?$|^ *\[ *\d+%\]$/,
      /^(?:-- Docs: https:.*|bringing up nodes\.\.\.|created: \d+\/\d+ workers?|\d+ workers? \[.*\]|scheduling tests via .*)$/,
    ),
    parts: [
      { from: /^=+ test session starts =+$/, to: /^collect(?:ing|ed)\b|^=+ \S/ },
      { from: /^=+ (?:FAILURES|ERRORS) =+$/, to: PYTEST_SECTION },
      // Their number is among the totals.
      { from: /^=+ warnings summary.* =+$/, to: /^-- Docs: |^=+ (?!warnings summary)\S.* =+$/ },
    ],
    results: anyOf(
      /^(?=\S*::).*\b(?:PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS)(?: \(.*\))?(?: +\[ *\d+%\])?$/,
      /^(?:PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS)(?: \S+::.*| +\[ *\d+%\])?$/,
      /^\[gw\d+\] /,
    ),
  },
  "node:test": {
    lines:
      /^\s*(?:[ℹ#] (?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+|TAP version \d+|\d+\.\.\d+|[.X]+)$/,
    parts: [
      { from: /^✖ failing tests:/, to: /^(?!test at |✖ )\S/ },
      { from: /^\s*---$/, to: /^\s*\.\.\.$/, through: true },
      // A file that does not load.
      {
        from: /^(?:# )?(?:node:internal\/|file:\/\/\/)\S+:\d+$/,
        to: /^(?:# )?Node\.js v\d|^\s*(?:[✔✖▶ℹ] |(?:not )?ok \d)/,
        through: true,
      },
    ],
    results: /^\s*(?:[✔✖▶﹣] |(?:not )?ok \d+\b|# Subtest: )/,
  },
  vitest: {
    lines:
      /^\s*(?:(?:RUN|DEV) {1,2}v\d.*|(?:Test Files|Tests|Type Errors|Errors|Snapshots|Start at|Duration|Isolate) {2}.*|at least ~\d+ms faster with .*|Coverage enabled with .*)$/,
    parts: [
      {
        from: /^⎯+ Failed (?:Tests|Suites) \d+ ⎯+$/,
        to: /^⎯+\[(\d+)\/\1\]⎯*$|^⎯+ (?!Failed )/,
        through: true,
      },
    ],
    results: /^\s*[✓×❯↓→✗√] /,
  },
  jest: {
    lines:
      /^(?:(?:Test Suites|Tests|Snapshots|Time): .*|Ran all test suites.*|Summary of all failing tests|Determining test suites to run.*| {2}● Console| +at .*:\d+:\d+\)?)$/,
    parts: [{ from: /^ {2}● (?!Console$)/, to: /^(?: {2}● |\S)/ }],
    results: /^\s+[✓✕○✎] /,
    resultParts: [{ from: /^(?:PASS|FAIL) /, to: /^(?: {2}● |\s*$| {2}console\.|\S)/ }],
  },
  cargo: {
    lines:
      /^(?:\s+(?:Compiling|Finished|Running|Doc-tests|Blocking|Download(?:ed|ing)|Updating|Locking|Adding|Fresh|Dirty|Checking|Executable|Starting|Summary|Nextest|Cancel(?:l)?ing) .*|running \d+ tests?|test result: .*|error: (?:test failed|\d+ targets? failed|could not compile).*|error: test run failed)$/,
    parts: [
      { from: /^failures:$/, to: /^test result: / },
      { from: /^\s*--- STD(?:OUT|ERR): /, to: /^\s*(?:Summary \[|[A-Z]+ \[|$)/ },
    ],
    results: /^(?:test .{1,1000} \.\.\. .*|\s+(?:PASS|FAIL|SKIP|TRY \d+ \w+) \[.*)$/,
  },
  go: {
    // A package that is named with its coverage says more than that it passed.
    lines:
      /^(?!.*coverage: )\s*(?:=== (?:RUN|PAUSE|CONT|NAME)\b.*|PASS|FAIL|ok {2}\t.*|FAIL\t.*|\?\s+\t.*|exit status .*|\{".*)$/,
    parts: [],
    results: /^\s*--- (?:PASS|FAIL|SKIP): /,
  },
};

const SCRIPT_RUNNERS: ReadonlySet<string> = new Set(["npm", "pnpm", "yarn", "bun", "npx"]);

/** What package managers say of the script that they run. */
const SCRIPT_RUNNER =
  /^(?:> .*|npm (?:error|ERR!|warn|notice)\b.*|yarn run v\d.*|\$ .*|Done in [\d.]+m?s\.?|info Visit .*|error (?:Command failed|script ").*| ELIFECYCLE .*)$/;

/** Frames of Node's own and of packages, and what ends its reports of a crash. */
const FOREIGN_FRAME = /^\s+at .*(?:node:|node_modules\/)|^Node\.js v\d|^node:internal\//;

/** Options by which more than a summary is asked for: names of tests, what they print, tables. */
const ASKS =
  /^(?:-[a-z]*[sv]+[a-z]*|-r[a-zA-Z]+|-v+|--verbose|--capture(?:=.*)?|--cov(?:erage|er)?(?:[=.-].*)?|-cover(?:profile.*)?|--durations(?:=.*)?|--setup-show|--reporters?(?:[=.].*)?|--test-reporter(?:=.*)?|--experimental-test-coverage|--nocapture|--show-output|--no-capture)$/;
const ASKS_NAMES =
  /^(?:-[a-z]*v+[a-z]*|--verbose|--reporters?(?:[=.].*)?|--test-reporter(?:=.*)?|-r[a-zA-Z]*[pPA][a-zA-Z]*)$/;

export const asksForMore = (argv: readonly string[]): boolean => argv.slice(1).some((arg) => ASKS.test(arg));

const partAt = (parts: readonly Part[], line: string): Part | undefined =>
  parts.find(({ from }) => from.test(line));

/** The lines of one stream that the runner did not write by itself. */
const strangeLines = (lines: readonly string[], own: OwnLines, keepsResults: boolean): string[] => {
  const kept: string[] = [];
  const parts = [...own.parts, ...(keepsResults ? [] : (own.resultParts ?? []))];
  let open: Part | undefined;
  for (const line of lines) {
    if (open !== undefined) {
      if (!open.to.test(line)) continue;
      const isLast = open.through === true;
      open = undefined;
      if (isLast) continue;
    }
    open = partAt(parts, line);
    const isOwn = open !== undefined || own.lines.test(line) || (!keepsResults && own.results.test(line));
    if (!isOwn && !FOREIGN_FRAME.test(line)) kept.push(line);
  }
  return kept;
};

/** In TAP and in the spec reporter, what is not a result begins with a mark. */
const withoutMark = (line: string): string => line.replace(/^(?:ℹ|#) ?/, "");

/** Rules as wide as a terminal cost tokens and say nothing. */
const shortRules = (line: string): string =>
  /^[-=_|+─⎯\s]+$/.test(line) || /^[=_!⎯-]{4,} .* [=_!⎯-]{4,}$/.test(line)
    ? line.replace(/([-=_!─⎯])\1{3,}/g, "$1$1$1")
    : line;

/** `stdout | a.test.ts > name` of vitest, and what follows it: that of failed tests comes first. */
const failedFirst = (lines: readonly string[], { failures }: TestReport): readonly string[] => {
  const groups: string[][] = [[]];
  for (const line of lines) {
    if (/^std(?:out|err) \| /.test(line)) groups.push([]);
    groups.at(-1)?.push(line);
  }
  const failed = new Set(failures.map(({ name }) => name));
  const isOfFailure = ([heading = ""]: readonly string[]): boolean =>
    failed.has(heading.slice(heading.indexOf(" > ") + " > ".length));
  return [...groups.filter(isOfFailure), ...groups.filter((group) => !isOfFailure(group))].flat();
};

const withoutEmptyRuns = (lines: readonly string[]): string[] =>
  lines.filter((line, i) => line.trim() !== "" || (i > 0 && (lines[i - 1] ?? "").trim() !== ""));

/** Where what failures are reported by stands between what tests print, in no part of its own. */
const OUTSIDE_PARTS: ReadonlySet<RunnerName> = new Set(["node:test", "go", "cargo"]);

const messageLines = ({ failures }: TestReport): readonly string[] =>
  failures.flatMap(({ message }) => message.split("\n")).map((line) => line.trim());

/**
 * What a test run wrote besides what its report tells: prints of tests, tables, the output of other programs in the same
 * script. What is not known to be the runner's own is among them.
 */
export const otherLines = (
  streams: readonly string[],
  report: TestReport,
  argv: readonly string[],
): readonly string[] => {
  const own = OWN[report.runner];
  const keepsResults = argv.slice(1).some((arg) => ASKS_NAMES.test(arg));
  const isScript = SCRIPT_RUNNERS.has(argv[0] ?? "");
  const reported = new Set(OUTSIDE_PARTS.has(report.runner) ? messageLines(report) : []);
  const lines = streams
    .flatMap((stream) => strangeLines(boundedLines(stream), own, keepsResults))
    .map((line) => (report.runner === "node:test" ? withoutMark(line) : line))
    .filter(
      (line) => line.trim() === "" || (!reported.has(line.trim()) && !(isScript && SCRIPT_RUNNER.test(line))),
    );
  const ordered = report.runner === "vitest" ? failedFirst(lines, report) : lines;
  const whole = withoutEmptyRuns(ordered).map(shortRules);
  const first = whole.findIndex((line) => line.trim() !== "");
  const last = whole.findLastIndex((line) => line.trim() !== "");
  return first < 0 ? [] : whole.slice(first, last + 1);
};
