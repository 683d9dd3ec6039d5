import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { userInfo } from "node:os";
import { join, relative, resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import {
  anyProject,
  countOf,
  type Failures,
  javascript,
  jsonFailures,
  type Language,
  readBy,
  render,
  withoutLines,
} from "../../../test/generated-tests.ts";
import { isLong, rounds } from "../../../test/rounds.ts";
import { enrich } from "../enrich/all.ts";
import type { TestReport } from "./contract.ts";

const run = (
  argv: readonly [string, ...string[]],
  cwd: string,
  more: Readonly<Record<string, string>> = {},
) => {
  const [program, ...rest] = argv;
  // Programs of version managers find their versions in the real home.
  const env = { ...process.env, HOME: userInfo().homedir, NO_COLOR: "1", FORCE_COLOR: "0", ...more };
  // A runner that thinks that it runs inside itself, or another, behaves differently.
  for (const name of Object.keys(env)) if (/^(VITEST|NODE_)/.test(name)) delete env[name as keyof typeof env];
  return spawnSync(program, rest, { cwd, encoding: "utf8", env, maxBuffer: 2 ** 28 });
};

const reportOf = (
  argv: readonly [string, ...string[]],
  cwd: string,
  reporting: readonly string[],
  more: Readonly<Record<string, string>> = {},
): TestReport => {
  const { stdout, stderr, status } = run([...argv, ...reporting], cwd, more);
  const summary = enrich({ argv, stdout, stderr, exitCode: status ?? -1, cut: false }, { maxTokens: 20_000 });
  if (summary?.tests === undefined) throw new Error(`no report: ${stdout}\n${stderr}`);
  return summary.tests;
};

const has = (argv: readonly [string, ...string[]]): boolean => {
  const { error, status } = run(argv, "/");
  return error === undefined && status === 0;
};

interface Runner {
  readonly title: string;
  readonly isHere: boolean;
  readonly language: Language;
  readonly command: readonly [string, ...string[]];
  /** Makes the same run write a report for programs, too. */
  readonly reporting: readonly string[];
  /** What that report says failed: `path name`. */
  readonly machine: (root: string) => Failures;
  readonly prepare?: (root: string) => void;
}

const junitFailures = (xml: string, fileOf: (attributes: string) => string): Failures =>
  [...xml.matchAll(/<testcase ([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g)]
    .filter(([, , , body = ""]) => body.includes("<failure"))
    .map(([, attributes = ""]) => `${fileOf(attributes)} ${/\bname="([^"]*)"/.exec(attributes)?.[1]}`)
    .toSorted();

const attribute = (attributes: string, name: string): string =>
  new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "";

const VITEST = resolve(import.meta.dirname, "../../../node_modules/vitest/vitest.mjs");

/** What a runner writes for programs, in the project's folder. */
const REPORT = "report.out";

const nodeTest = (reporter: "spec" | "tap"): Runner => ({
  title: `node --test (${reporter})`,
  isHere: true,
  language: javascript(
    'import test from "node:test"; import assert from "node:assert";',
    "assert.equal(1, 2)",
  ),
  command: [process.execPath, "--test", `--test-reporter=${reporter}`],
  reporting: [
    "--test-reporter-destination=stdout",
    "--test-reporter=junit",
    `--test-reporter-destination=${REPORT}`,
  ],
  machine: (root) =>
    junitFailures(readFileSync(join(root, REPORT), "utf8"), (attributes) =>
      relative(root, attribute(attributes, "file")),
    ),
});

const hasPytest = has(["pytest", "--version"]);

const RUNNERS: readonly Runner[] = [
  nodeTest("spec"),
  nodeTest("tap"),
  {
    title: "vitest",
    isHere: true,
    language: javascript('import { expect, test } from "vitest";', "expect(1).toBe(2)"),
    // One worker for all files: what it prints is the same.
    command: [process.execPath, VITEST, "run", "--root", ".", "--maxWorkers=1", "--no-isolate"],
    prepare: (root) =>
      symlinkSync(resolve(import.meta.dirname, "../../../node_modules"), join(root, "node_modules")),
    reporting: ["--reporter=default", "--reporter=json", `--outputFile.json=${REPORT}`],
    machine: (root) => jsonFailures(readFileSync(join(root, REPORT), "utf8"), root),
  },
  ...(["auto", "short", "line", "native"] as const).map(
    (style): Runner => ({
      title: `pytest (--tb=${style})`,
      isHere: hasPytest,
      language: {
        fileOf: (path) => path.replace(/[^/]+$/, (name) => `test_${name}.py`),
        head: () => ["import pytest", "from helper import explode"],
        lines: ({ name, outcome }) => [
          ...(outcome === "skip" ? ["@pytest.mark.skip"] : []),
          `def test_${name}():`,
          ...(outcome === "fail" ? ["    assert 1 == 2  # FAILS"] : []),
          ...(outcome === "fail in helper" ? ["    explode()  # FAILS"] : []),
          "    pass",
        ],
        helper: {
          "helper.py": "\n\n\ndef explode():\n    raise ValueError('exploded')\n",
          "pytest.ini": "[pytest]\naddopts = --import-mode=importlib\npythonpath = .\n",
        },
      },
      command: ["pytest", `--tb=${style}`, "-p", "no:cacheprovider"],
      reporting: [`--junitxml=${REPORT}`, "-o", "junit_family=xunit1"],
      machine: (root) =>
        junitFailures(readFileSync(join(root, REPORT), "utf8"), (attributes) =>
          attribute(attributes, "file"),
        ).map((one) => one.replace(" test_", " ")),
    }),
  ),
];

const nameOf = (runner: Runner, failures: Failures): Failures =>
  runner.title.startsWith("pytest") ? failures.map((one) => one.replace(" test_", " ")).toSorted() : failures;

const titleOf = ({ title, isHere }: Runner): string =>
  `${title}${isHere ? "" : ", which this machine does not have"}`;

describe("REQ-X4: what an enricher reads of generated projects is what the runner tells programs", () => {
  for (const runner of RUNNERS)
    test.skipIf(!runner.isHere)(
      `${titleOf(runner)}: names, files and lines belong together`,
      () => {
        fc.assert(
          fc.property(anyProject, (project) => {
            const { files, failures } = render(project, runner.language);
            const root = tempWorkspace(files);
            runner.prepare?.(root);
            const report = reportOf(runner.command, root, runner.reporting);
            const read = nameOf(runner, readBy(report, root));
            expect(withoutLines(read)).toEqual(withoutLines(failures));
            expect(withoutLines(read)).toEqual(runner.machine(root));
            // Some styles of pytest name only the line that raised; then there is that file, and never a mixture.
            const isExact = !/line\)|native\)/.test(runner.title);
            if (isExact) expect(read).toEqual(failures);
            expect(report).toMatchObject({
              passed: countOf(project, "pass"),
              failed: countOf(project, "fail"),
              skipped: countOf(project, "skip"),
            });
          }),
          { numRuns: rounds(1, 10), endOnFailure: true },
        );
      },
      120_000,
    );
});

/** What pytest cannot collect, it tells alike in every style but for the length. */
const importing = RUNNERS.filter(({ title }) => isLong || !/=(short|native)/.test(title));

describe("REQ-X4: a file that fails on import is reported with its cause", () => {
  for (const runner of importing)
    test.skipIf(!runner.isHere)(
      titleOf(runner),
      () => {
        fc.assert(
          fc.property(anyProject, fc.constantFrom("broken", "sub/broken"), (project, path) => {
            const { files, failures } = render(project, runner.language);
            const broken = runner.language.fileOf(path);
            const statement = broken.endsWith(".py") ? "import no_such_module" : 'import "no_such_module";';
            const root = tempWorkspace({ ...files, [broken]: `\n\n${statement}\n` });
            runner.prepare?.(root);
            const report = reportOf(runner.command, root, []);
            const isBroken = ({ file, name }: TestReport["failures"][number]): boolean =>
              `${file} ${name}`.includes("broken");
            expect(report.failures.filter(isBroken)).toEqual([
              expect.objectContaining({ message: expect.stringContaining("no_such_module") }),
            ]);
            // pytest runs nothing where a file cannot be collected.
            if (runner.title.startsWith("pytest")) return;
            const others = { ...report, failures: report.failures.filter((one) => !isBroken(one)) };
            expect(withoutLines(readBy(others, root))).toEqual(withoutLines(failures));
          }),
          { numRuns: rounds(1, 10), endOnFailure: true },
        );
      },
      120_000,
    );
});

const CARGO: Language = {
  fileOf: (path) => `tests/${path.replaceAll("/", "_")}.rs`,
  head: () => ["#![allow(unused_imports)]", "use generated::explode;"],
  lines: ({ name, outcome }) => [
    ...(outcome === "skip" ? ["#[test] #[ignore]"] : ["#[test]"]),
    `fn ${name}() {`,
    ...(outcome === "fail" ? ["    assert_eq!(1, 2); // FAILS"] : []),
    ...(outcome === "fail in helper" ? ["    explode(); // FAILS"] : []),
    "}",
  ],
  helper: {
    "Cargo.toml": '[package]\nname = "generated"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": '#[track_caller]\npub fn explode() {\n    panic!("exploded");\n}\n',
  },
};

/** The same for both runs, so that the second finds everything built. Debug information takes most of the time. */
const CARGO_ENV = { RUSTC_BOOTSTRAP: "1", CARGO_PROFILE_DEV_DEBUG: "0", CARGO_INCREMENTAL: "0" };

/** Names of failed tests in the events of the test programs; they do not say which file they are of. */
const cargoEvents = (root: string): readonly string[] =>
  run(["cargo", "test", "--no-fail-fast", "--", "-Zunstable-options", "--format=json"], root, CARGO_ENV)
    .stdout.split("\n")
    .filter((line) => line.startsWith("{"))
    .map(
      (line) => JSON.parse(line) as { readonly type: string; readonly event: string; readonly name: string },
    )
    .filter(({ type, event }) => type === "test" && event === "failed")
    .map(({ name }) => name)
    .toSorted();

const hasCargo = has(["cargo", "--version"]);

test.skipIf(!hasCargo)(
  `REQ-X4: cargo test${hasCargo ? "" : ", which this machine does not have"}: names, files and lines belong together`,
  () => {
    fc.assert(
      fc.property(anyProject, (project) => {
        const { files, failures } = render(project, CARGO);
        const root = tempWorkspace(files);
        const report = reportOf(["cargo", "test", "--no-fail-fast"], root, [], CARGO_ENV);
        expect(readBy(report, root)).toEqual(failures);
        expect(report.failures.map(({ name }) => name).toSorted()).toEqual(cargoEvents(root));
      }),
      { numRuns: rounds(1, 3), endOnFailure: true },
    );
  },
  180_000,
);

/** A package for each file: Go knows no two functions of one name in a package, and names files without their folder. */
const goPackage = (path: string): string => path.replaceAll("/", "_");
const goTest = (name: string): string => `Test_${name}`;

const GO: Language = {
  fileOf: (path) => `${goPackage(path)}/${goPackage(path)}_test.go`,
  head: (path) => [
    `package ${goPackage(path)}`,
    'import ( "testing"; "generated/helper" )',
    "var _ = helper.Explode",
  ],
  lines: ({ name, outcome }) => [
    `func ${goTest(name)}(t *testing.T) {`,
    ...(outcome === "skip" ? ["    t.Skip()"] : []),
    ...(outcome === "fail" ? ['    t.Error("1 is not 2") // FAILS'] : []),
    ...(outcome === "fail in helper" ? ["    helper.Explode(t) // FAILS"] : []),
    "}",
  ],
  helper: {
    "go.mod": "module generated\n\ngo 1.19\n",
    "helper/helper.go":
      'package helper\n\nimport "testing"\n\nfunc Explode(t *testing.T) {\n    t.Helper()\n    t.Fatal("exploded")\n}\n',
  },
};

const goEvents = (root: string): Failures =>
  run(["go", "test", "-json", "./..."], root, GO_ENV)
    .stdout.split("\n")
    .filter((line) => line.startsWith("{"))
    .map(
      (line) =>
        JSON.parse(line) as { readonly Action: string; readonly Package: string; readonly Test?: string },
    )
    .filter(({ Action, Test }) => Action === "fail" && Test !== undefined)
    .map(({ Package, Test }) => `${Package.split("/").at(-1)}_test.go ${Test}`)
    .toSorted();

/** Nothing is fetched: the toolchain of the machine is the one that counts. */
const GO_ENV = { GOFLAGS: "-mod=mod", GOPROXY: "off", GOTOOLCHAIN: "local" };
const hasGo = has(["go", "version"]);

test.skipIf(!hasGo).each([
  ["go", "test", "./..."],
  ["go", "test", "-v", "./..."],
  ["go", "test", "-json", "./..."],
] as const)(
  `REQ-X4: %s %s %s${hasGo ? "" : ", which this machine does not have"}: names, files and lines belong together`,
  (...argv) => {
    fc.assert(
      fc.property(anyProject, (project) => {
        const { files, failures } = render(project, GO);
        const root = tempWorkspace(files);
        const report = reportOf(argv, root, [], GO_ENV);
        const read = readBy(report, root);
        expect(read).toEqual(
          failures
            .map((one) => one.replace(/^\S+\/(\S+) (\S+)/, (_, file, name) => `${file} ${goTest(name)}`))
            .toSorted(),
        );
        expect(withoutLines(read)).toEqual(goEvents(root));
      }),
      { numRuns: rounds(1, 3), endOnFailure: true },
    );
  },
  180_000,
);

/** As `scripts/record-jest.ts` wrote it: jest brings more packages than all of ours, so it is not installed for tests. */
interface RecordedRun {
  readonly root: string;
  readonly output: string;
  readonly exitCode: number;
  /** The runner's own report for programs. */
  readonly report: string;
  /** With their lines, as the project was generated. */
  readonly failures: Failures;
}

test("REQ-X4: jest, recorded: names, files and lines belong together, as its own report says", () => {
  const recorded = JSON.parse(
    readFileSync(resolve(import.meta.dirname, "../../../test/recorded-jest.json"), "utf8"),
  ) as { readonly version: string; readonly runs: readonly RecordedRun[] };
  expect(recorded.runs.length).toBeGreaterThanOrEqual(12);
  for (const { root, output, exitCode, report, failures } of recorded.runs) {
    const summary = enrich(
      { argv: ["jest"], stdout: "", stderr: output, exitCode, cut: false },
      { maxTokens: 20_000 },
    );
    if (summary?.tests === undefined) expect.fail(output);
    const read = readBy(summary.tests, root);
    expect(read).toEqual(failures);
    expect(withoutLines(read)).toEqual(jsonFailures(report, root));
    const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(report) as Record<string, number>;
    expect(summary.tests).toMatchObject({
      passed: numPassedTests,
      failed: numFailedTests,
      skipped: numPendingTests,
    });
  }
});
