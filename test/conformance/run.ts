import { writeFile } from "node:fs/promises";
import { PAGE, renderPage, resultOf } from "./page.ts";
import { type Report, RUNS, runSuites } from "./suites.ts";

const show = (line: string): void => void process.stdout.write(`${line}\n`);

const showReport = ({ run, version, outcomes }: Report): void => {
  show(`\n${run.revision}, suite ${version}`);
  for (const outcome of outcomes) {
    show(`  ${outcome.scenario.padEnd(46)} ${resultOf(outcome)}`);
    const remark = run.remarks[outcome.scenario];
    const messages = remark === undefined ? [...outcome.failures, ...outcome.warnings] : [remark];
    for (const message of messages) show(`      ${message}`);
  }
};

const reports = await runSuites(RUNS);
for (const report of reports) showReport(report);
if (process.argv.includes("--write")) await writeFile(PAGE, renderPage(reports));

const isBroken = ({ run, outcomes }: Report): boolean =>
  run.revision.startsWith("2025-") && outcomes.some(({ verdict }) => verdict === "fail");
if (reports.some(isBroken)) process.exitCode = 1;
