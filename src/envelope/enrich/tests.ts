import { renderTestFailure } from "../../base/test-failure.ts";
import { plural } from "../../base/text.ts";
import { NO_TESTS, type ParseTests, type TestReport } from "../test-runners/contract.ts";
import { parseNodeTestOfAny } from "../test-runners/node-test.ts";
import { asksForMore, otherLines } from "../test-runners/other-lines.ts";
import { parsersFor } from "../test-runners/which.ts";
import { plainText } from "../text/lines.ts";
import { estimateTokens } from "../text/token-estimate.ts";
import { summarizeLongText } from "./any-program.ts";
import { countFitting, fits } from "./budget.ts";
import type { Enriched, Enricher, EnrichLimits, Ran } from "./contract.ts";
import { headAndTail } from "./head-and-tail.ts";

/** `pytest: 2 failed, 5 passed, 1 skipped; 1.2s` */
const renderTotals = ({ runner, failed, errors, passed, skipped, notes }: TestReport): string => {
  const totals = notes.includes(NO_TESTS)
    ? []
    : [
        ...(errors > 0 ? [plural(errors, "error")] : []),
        ...(failed > 0 ? [`${failed} failed`] : []),
        `${passed} passed`,
        ...(skipped > 0 ? [`${skipped} skipped`] : []),
      ];
  return `${runner}: ${[totals.join(", "), ...notes].filter((part) => part !== "").join("; ")}`;
};

/** Failures first, passes only counted; and whether every failure is shown. */
const summarizeTests = (report: TestReport, limits: EnrichLimits): readonly [string, boolean] => {
  const failures = report.failures.map(renderTestFailure);
  const shown = countFitting(failures, limits.maxTokens - 80);
  const rest = report.failures.slice(shown).map(({ name }) => name);
  const names = rest.slice(0, 20).map((name) => name.slice(0, 120));
  const text = [
    renderTotals(report),
    ...failures.slice(0, shown),
    ...(rest.length === 0
      ? []
      : [`[and ${plural(rest.length, "more failure")}: ${names.join("; ").slice(0, 200)}]`]),
  ].join("\n");
  return [text, rest.length === 0];
};

/** Of what tests print although nobody asked for it: enough for a few lines of debugging, or a linter's findings. */
const UNASKED_TOKENS = 300;
/** For the notes around it. */
const NOTE_TOKENS = 60;

interface Other {
  readonly text: string;
  readonly isWhole: boolean;
}

/** What the run wrote besides its results, in the tokens that the results leave. */
const summarizeOther = (ran: Ran, report: TestReport, spent: number, { maxTokens }: EnrichLimits): Other => {
  const lines = otherLines([ran.stdout, ran.stderr].map(plainText), report, ran.argv);
  if (lines.length === 0) return { text: "", isWhole: true };
  const left = Math.max(NOTE_TOKENS, maxTokens - spent - NOTE_TOKENS);
  const limits = { maxTokens: asksForMore(ran.argv) ? left : Math.min(left, UNASKED_TOKENS) };
  const { text, truncated } = headAndTail(lines, limits, { head: 0.5, errors: true });
  return { text, isWhole: !truncated };
};

/** Some runners print whole paths. */
const fromRoot = (report: TestReport, root: string | undefined): TestReport => {
  if (root === undefined) return report;
  const short = (path: string): string => (path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path);
  const failures = report.failures.map((one) => ({
    ...one,
    name: short(one.name),
    file: one.file === null ? null : short(one.file),
  }));
  return { ...report, failures };
};

const reportOf = (ran: Ran, parsers: readonly ParseTests[]): TestReport | undefined => {
  // Some runners write failures, or all they have to say, to the error stream.
  const output = plainText(`${ran.stdout}\n${ran.stderr}`);
  for (const parse of parsers) {
    const report = parse(output);
    if (report !== undefined) return fromRoot(report, ran.root);
  }
  return undefined;
};

/** The report instead of the output that it was read from. */
const showReport = (ran: Ran, report: TestReport, limits: EnrichLimits): Enriched => {
  const matchCount = report.failed + report.errors;
  const [summary, isWhole] = summarizeTests(report, limits);
  if (ran.exitCode !== 0 && matchCount === 0) {
    // It failed before any test ran, or for another reason: its output is all that is known.
    const half = { ...limits, maxTokens: limits.maxTokens * 0.5 };
    const text = `${summary}\n${summarizeLongText(ran.stdout, half).text}`;
    return { text, matchCount, truncated: true, keepsAll: false, tests: report };
  }
  const other = summarizeOther(ran, report, estimateTokens(summary), limits);
  return {
    text: other.text === "" ? summary : `${summary}\n[other output]\n${other.text}`,
    stderr: "",
    matchCount,
    truncated: true,
    keepsAll: isWhole && other.isWhole,
    tests: other.text === "" ? report : { ...report, other: other.text },
  };
};

/** A long output in which node:test reports a run, of a program that is not known to run tests. */
export const summarizeUnknownTests = (ran: Ran, limits: EnrichLimits): Enriched | undefined => {
  if (fits(ran.stdout, limits)) return undefined;
  const report = reportOf(ran, [parseNodeTestOfAny]);
  return report === undefined ? undefined : showReport(ran, report, limits);
};

export const tests: Enricher = {
  name: "tests",
  programs:
    `pytest py.test python pypy vitest jest react-scripts node nodejs cargo go npm npx pnpm pnpx yarn bun
    bunx uv uvx poetry pdm hatch pipenv`.split(/\s+/),
  enrich: (ran, limits) => {
    const known = parsersFor(ran.argv);
    // A script, and what npx starts, may run tests under any name.
    const report = reportOf(ran, known.length === 0 ? [parseNodeTestOfAny] : known);
    return report === undefined ? undefined : showReport(ran, report, limits);
  },
};
