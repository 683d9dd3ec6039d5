import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { PAGE, renderPage } from "./page.ts";
import { type Report, RUNS, runSuites, surprises } from "./suites.ts";

/** Far more than the suites need on two cores (about 10 s), also where those are shared with others. */
const TIMEOUT_MS = 240_000;

describe("the official MCP conformance suite, against the HTTP door with fixtures as custom modules", () => {
  let reports: readonly Report[] = [];
  beforeAll(async () => {
    reports = await runSuites(RUNS);
  }, TIMEOUT_MS);

  test.each(RUNS.map((run, i) => ({ ...run, i })))(
    "REQ-P6 REQ-T11 $revision passes (suite: $suite.name)",
    ({ i }) => {
      const report = reports[i];
      if (report === undefined) throw new Error("the suite did not run");
      if (report.run.revision.startsWith("2025-"))
        expect(report.outcomes.filter(({ verdict }) => verdict !== "pass")).toEqual([]);
      expect(surprises(report)).toEqual([]);
    },
  );

  test("REQ-P6 docs/conformance.md says what came out (npm run conformance -- --write)", async () => {
    expect(await readFile(PAGE, "utf8")).toBe(renderPage(reports));
  });
});
