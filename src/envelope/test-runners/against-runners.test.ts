import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { userInfo } from "node:os";
import { join, relative, resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { isLong, rounds } from "../../../test/rounds.ts";
import { enrich } from "../enrich/all.ts";
import type { TestReport } from "./contract.ts";

/** Names that several files share, and folders that make one path the end of another. */
const FILES = ["a", "b", "xa", "sub/a", "sub/deep/a"] as const;
const NAMES = ["adds", "breaks", "is_same"] as const;
const OUTCOMES = ["pass", "fail", "fail in helper", "skip"] as const;

interface GeneratedTest {
  readonly name: string;
  readonly outcome: (typeof OUTCOMES)[number];
  /** Lines before it, so that no two files have their tests on the same lines. */
  readonly gap: number;
}

interface GeneratedFile {
  readonly path: string;
  readonly tests: readonly GeneratedTest[];
}

const anyTest = fc.record({
  name: fc.constantFrom(...NAMES),
  outcome: fc.constantFrom(...OUTCOMES),
  gap: fc.integer({ min: 0, max: 9 }),
});
const anyProject = fc
  .uniqueArray(
    fc.record({
      path: fc.constantFrom(...FILES),
      tests: fc.uniqueArray(anyTest, { selector: ({ name }) => name, minLength: 1, maxLength: 3 }),
    }),
    { selector: ({ path }) => path, minLength: 2, maxLength: 4 },
  )
  .filter((files) => files.some(({ tests }) => tests.some(({ outcome }) => outcome.startsWith("fail"))));

/** `path name line` of every test that fails, the line being that of the test's own file. */
type Failures = readonly string[];

interface Rendered {
  readonly files: Readonly<Record<string, string>>;
  readonly failures: Failures;
}

interface Language {
  readonly fileOf: (path: string) => string;
  readonly head: (path: string) => readonly string[];
  /** The lines of a test; the failing one holds FAILS. */
  readonly lines: (test: GeneratedTest) => readonly string[];
  readonly helper: Readonly<Record<string, string>>;
}

const render = (project: readonly GeneratedFile[], { fileOf, head, lines, helper }: Language): Rendered => {
  const failures: string[] = [];
  const files = project.map(({ path, tests }) => {
    const text = [...head(path)];
    for (const one of tests) {
      text.push(...Array.from({ length: one.gap }, () => ""), ...lines(one));
      const at = text.findLastIndex((line) => line.includes("FAILS"));
      if (one.outcome.startsWith("fail")) failures.push(`${fileOf(path)} ${one.name} ${at + 1}`);
    }
    return [fileOf(path), `${text.join("\n")}\n`] as const;
  });
  return { files: { ...Object.fromEntries(files), ...helper }, failures: failures.toSorted() };
};

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

/** The same form for what an enricher read; whole paths become relative. */
const readBy = ({ failures }: TestReport, root: string): Failures =>
  failures
    .map(({ name, file, line }) => {
      const path = file?.startsWith("/") ? relative(root, file) : file;
      return `${path} ${name.split(/::| > /).at(-1)} ${line}`;
    })
    .toSorted();

const withoutLines = (failures: Failures): Failures =>
  failures.map((one) => one.slice(0, one.lastIndexOf(" "))).toSorted();

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

const javascript = (imports: string, failing: string): Language => ({
  fileOf: (path) => `${path}.test.mjs`,
  head: (path) => [
    imports,
    `import { explode } from "${"../".repeat(path.split("/").length - 1) || "./"}helper.mjs";`,
  ],
  lines: ({ name, outcome }) =>
    outcome === "skip"
      ? [`test.skip("${name}", () => {});`]
      : [
          `test("${name}", () => {`,
          ...(outcome === "fail" ? [`  ${failing}; // FAILS`] : []),
          ...(outcome === "fail in helper" ? ["  explode(); // FAILS"] : []),
          "});",
        ],
  helper: { "helper.mjs": "\n\n\nexport const explode = () => {\n  throw new Error('exploded');\n};\n" },
});

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

interface VitestJson {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[];
  }[];
}

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
    machine: (root) => {
      const { testResults } = JSON.parse(readFileSync(join(root, REPORT), "utf8")) as VitestJson;
      return testResults
        .flatMap(({ name, assertionResults }) =>
          assertionResults
            .filter(({ status }) => status === "failed")
            .map(({ title }) => `${relative(root, name)} ${title}`),
        )
        .toSorted();
    },
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
            const count = (outcome: string): number =>
              project.flatMap(({ tests }) => tests).filter((one) => one.outcome.startsWith(outcome)).length;
            expect(report).toMatchObject({
              passed: count("pass"),
              failed: count("fail"),
              skipped: count("skip"),
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
