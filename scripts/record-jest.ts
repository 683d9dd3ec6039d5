import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { anyProject, javascript, render } from "../test/generated-tests.ts";

/**
 * Installs jest into a temporary folder, runs it on generated projects, and writes what it prints and what it reports to
 * programs to `test/recorded-jest.json`. To be run again when jest changes what it prints: `node scripts/record-jest.ts`.
 */
const PROJECTS = 16;
const SEED = 20_261_118;

const folder = mkdtempSync(join(tmpdir(), "llmc-jest-"));
try {
  writeFileSync(join(folder, "package.json"), '{"private":true}');
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "jest@30"], { cwd: folder, stdio: "inherit" });
  const jest = join(folder, "node_modules/jest/bin/jest.js");
  const { version } = JSON.parse(readFileSync(join(folder, "node_modules/jest/package.json"), "utf8")) as {
    readonly version: string;
  };
  const language = javascript("// jest has its functions as globals.", "expect(1).toBe(2)", "cjs");
  const runs = fc.sample(anyProject, { numRuns: PROJECTS, seed: SEED }).map((project, index) => {
    const root = join(folder, `p${index}`);
    const { files, failures } = render(project, language);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    const config = { testMatch: ["**/*.test.cjs"], moduleFileExtensions: ["cjs", "js", "json"] };
    writeFileSync(join(root, "package.json"), JSON.stringify({ private: true, jest: config }));
    const { stderr, status } = spawnSync(
      process.execPath,
      [jest, "--ci", "--json", `--outputFile=${join(folder, "report.json")}`],
      { cwd: root, encoding: "utf8", env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" } },
    );
    const clean = (text: string): string => text.replaceAll(folder, "/jest");
    const report = JSON.parse(readFileSync(join(folder, "report.json"), "utf8")) as {
      readonly testResults: readonly {
        readonly name: string;
        readonly assertionResults: readonly object[];
      }[];
    } & Record<string, unknown>;
    const { numPassedTests, numFailedTests, numPendingTests } = report;
    const testResults = report.testResults.map(({ name, assertionResults }) => ({
      name,
      assertionResults: assertionResults.map((one) => {
        const { title, status: outcome } = one as { readonly title: string; readonly status: string };
        return { title, status: outcome };
      }),
    }));
    const own = { numPassedTests, numFailedTests, numPendingTests, testResults };
    return {
      root: clean(root),
      output: clean(stderr),
      exitCode: status ?? -1,
      report: clean(JSON.stringify(own)),
      failures,
    };
  });
  writeFileSync(
    join(import.meta.dirname, "../test/recorded-jest.json"),
    `${JSON.stringify({ version, runs }, null, 2)}\n`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
