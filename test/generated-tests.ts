import { relative } from "node:path";
import fc from "fast-check";
import type { TestReport } from "../src/envelope/test-runners/contract.ts";

/** Names that several files share, and folders that make one path the end of another. */
const FILES = ["a", "b", "xa", "sub/a", "sub/deep/a"] as const;
const NAMES = ["adds", "breaks", "is_same"] as const;
const OUTCOMES = ["pass", "fail", "fail in helper", "skip"] as const;

export interface GeneratedTest {
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
export const anyProject = fc
  .uniqueArray(
    fc.record({
      path: fc.constantFrom(...FILES),
      tests: fc.uniqueArray(anyTest, { selector: ({ name }) => name, minLength: 1, maxLength: 3 }),
    }),
    { selector: ({ path }) => path, minLength: 2, maxLength: 4 },
  )
  .filter((files) => files.some(({ tests }) => tests.some(({ outcome }) => outcome.startsWith("fail"))));

/** `path name line` of every test that fails, the line being that of the test's own file. */
export type Failures = readonly string[];

interface Rendered {
  readonly files: Readonly<Record<string, string>>;
  readonly failures: Failures;
}

export interface Language {
  readonly fileOf: (path: string) => string;
  readonly head: (path: string) => readonly string[];
  /** The lines of a test; the failing one holds FAILS. */
  readonly lines: (test: GeneratedTest) => readonly string[];
  readonly helper: Readonly<Record<string, string>>;
}

export const render = (
  project: readonly GeneratedFile[],
  { fileOf, head, lines, helper }: Language,
): Rendered => {
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

/** Tests as ES modules, or as CommonJS modules, which jest takes as they are. */
export const javascript = (imports: string, failing: string, type: "mjs" | "cjs" = "mjs"): Language => ({
  fileOf: (path) => `${path}.test.${type}`,
  head: (path) => {
    const helper = `"${"../".repeat(path.split("/").length - 1) || "./"}helper.${type}"`;
    return [
      imports,
      type === "mjs" ? `import { explode } from ${helper};` : `const { explode } = require(${helper});`,
    ];
  },
  lines: ({ name, outcome }) =>
    outcome === "skip"
      ? [`test.skip("${name}", () => {});`]
      : [
          `test("${name}", () => {`,
          ...(outcome === "fail" ? [`  ${failing}; // FAILS`] : []),
          ...(outcome === "fail in helper" ? ["  explode(); // FAILS"] : []),
          "});",
        ],
  helper: {
    [`helper.${type}`]: `\n\n\n${type === "mjs" ? "export const " : "exports."}explode = () => {\n  throw new Error('exploded');\n};\n`,
  },
});

/** The same form for what an enricher read; whole paths become relative. */
export const readBy = ({ failures }: TestReport, root: string): Failures =>
  failures
    .map(({ name, file, line }) => {
      const path = file?.startsWith("/") ? relative(root, file) : file;
      return `${path} ${name.split(/::| > /).at(-1)} ${line}`;
    })
    .toSorted();

export const withoutLines = (failures: Failures): Failures =>
  failures.map((one) => one.slice(0, one.lastIndexOf(" "))).toSorted();

/** How many tests of a project have an outcome. */
export const countOf = (project: readonly GeneratedFile[], outcome: string): number =>
  project.flatMap(({ tests }) => tests).filter((one) => one.outcome.startsWith(outcome)).length;

/** A report for programs as vitest and jest write it. */
interface JsonReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[];
  }[];
}

/** What such a report says failed: `path name`. */
export const jsonFailures = (text: string, root: string): Failures =>
  (JSON.parse(text) as JsonReport).testResults
    .flatMap(({ name, assertionResults }) =>
      assertionResults
        .filter(({ status }) => status === "failed")
        .map(({ title }) => `${relative(root, name)} ${title}`),
    )
    .toSorted();
