import { renderTestFailure } from "../../base/test-failure.ts";
import { plural } from "../../base/text.ts";
import type { TestReport } from "../test-runners/contract.ts";
import { parsersFor } from "../test-runners/which.ts";
import { plainText } from "../text/lines.ts";
import { summarizeLongText } from "./any-program.ts";
import { countFitting } from "./budget.ts";
import type { Enricher, EnrichLimits } from "./contract.ts";

/** `pytest: 2 failed, 5 passed, 1 skipped; 1.2s` */
const renderTotals = ({ runner, failed, errors, passed, skipped, notes }: TestReport): string => {
  const totals = [
    ...(errors > 0 ? [plural(errors, "error")] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    `${passed} passed`,
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ];
  return `${runner}: ${[totals.join(", "), ...notes.filter((note) => note !== "")].join("; ")}`;
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

export const tests: Enricher = {
  name: "tests",
  programs:
    `pytest py.test python pypy vitest jest react-scripts node nodejs cargo go npm npx pnpm pnpx yarn bun
    bunx uv uvx poetry pdm hatch pipenv`.split(/\s+/),
  enrich: (ran, limits) => {
    const parsers = parsersFor(ran.argv);
    if (parsers.length === 0) return undefined;
    // Some runners write failures, or all they have to say, to the error stream.
    const output = plainText(`${ran.stdout}\n${ran.stderr}`);
    for (const parse of parsers) {
      const report = parse(output);
      if (report === undefined) continue;
      const isReported = ran.exitCode === 0 || report.failed + report.errors > 0;
      // It failed before any test ran: its output is all that is known.
      const ownOutput = isReported
        ? ""
        : `\n${summarizeLongText(ran.stdout, { ...limits, maxTokens: limits.maxTokens * 0.5 }).text}`;
      const [summary, isWhole] = summarizeTests(report, limits);
      return {
        text: `${summary}${ownOutput}`,
        ...(isReported ? { stderr: "" } : {}),
        matchCount: report.failed + report.errors,
        truncated: true,
        keepsAll: isWhole && ownOutput === "",
        tests: report,
      };
    }
    return undefined;
  },
};
