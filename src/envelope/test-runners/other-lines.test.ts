import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { summarize, summarizeReal } from "../../../test/summarize.ts";

/** Long enough that a summary is cheaper than the output. */
const many = (line: (i: number) => string): string =>
  Array.from({ length: 60 }, (_, i) => line(i)).join("\n");

const SESSION = `============================= test session starts ==============================
platform linux -- Python 3.11.7, pytest-9.0.3, pluggy-1.6.0
rootdir: /w
plugins: cov-6.0.0
collected 62 items
`;
const FAILED = `=================================== FAILURES ===================================
___________________________________ test_eq ____________________________________

>       assert total() == 3
E       assert 4 == 3

tests/test_a.py:7: AssertionError
----------------------------- Captured stdout call -----------------------------
${Array.from({ length: 14 }, (_, i) => `DEBUG step ${i}`).join("\n")}
------------------------------ Captured log call -------------------------------
WARNING  shop:cart.py:3 rounded
=============================== warnings summary ===============================
tests/test_w.py::test_w
  /w/tests/test_w.py:3: DeprecationWarning: old api
-- Docs: https://docs.pytest.org/en/stable/how-to/capture-warnings.html
=========================== short test summary info ============================
FAILED tests/test_a.py::test_eq - assert 4 == 3
=================== 1 failed, 61 passed, 2 warnings in 0.71s ===================
`;

describe("REQ-X4: what a pytest run says besides its results is kept", () => {
  test("what a failing test printed and logged, the end of it where it is long; warnings are counted", () => {
    const summary = summarize("pytest", `${SESSION}${many(() => ".".repeat(60))}\n${FAILED}`, {
      exitCode: 1,
    });
    expect(summary?.text).toBe(
      [
        "pytest: 1 failed, 61 passed; 2 warnings; 0.71s",
        "FAIL tests/test_a.py:7 test_eq",
        "assert 4 == 3",
        "Captured stdout call:",
        "[4 lines left out]",
        ...Array.from({ length: 10 }, (_, i) => `DEBUG step ${i + 4}`),
        "Captured log call:",
        "WARNING  shop:cart.py:3 rounded",
      ].join("\n"),
    );
  });

  const verbose = many((i) => `tests/test_a.py::test_${i} PASSED                 [ ${i}%]`);
  const end = "============================== 62 passed in 0.71s ==============================\n";

  test.each([
    ["pytest -s", `${SESSION}tests/test_a.py DEBUG grace 14\n.`, "DEBUG grace 14"],
    ["pytest -v", `${SESSION}${verbose}`, "tests/test_a.py::test_7 PASSED"],
    ["python -m pytest -vv", `${SESSION}${verbose}`, "tests/test_a.py::test_59 PASSED"],
    [
      "pytest --durations=2",
      `${SESSION}=== slowest 2 durations ===\n0.01s call tests/test_a.py::a`,
      "0.01s call",
    ],
    [
      "pytest --cov=shop",
      `${SESSION}=== tests coverage ===\nName Stmts\nshop/cart.py 31 3 90%`,
      "cart.py 31 3 90%",
    ],
    ["pytest -rA", `${SESSION}=== PASSES ===\n___ test_w ___\n--- Captured stdout call ---\nhello`, "hello"],
    ["pytest --setup-show", `${SESSION}        SETUP    F service`, "SETUP    F service"],
    ["pytest -x", `${SESSION}!!!!! stopping after 1 failures !!!!!`, "stopping after 1 failures"],
  ])("%s", (command, output, expected) => {
    const text = summarize(command, `${output}\n${many(() => ".".repeat(60))}\n${end}`)?.text;
    expect(text).toMatch(/^pytest: 62 passed; 0\.71s\n\[other output\]\n/);
    expect(text).toContain(expected);
    expect(text).not.toMatch(/rootdir|collected|\.{9}/);
  });

  test("names of tests that passed are only counted where nobody asked for them", () => {
    const summary = summarize("pytest", `${SESSION}${verbose}\n${end}`);
    expect(summary).toMatchObject({ text: "pytest: 62 passed; 0.71s", keepsAll: true });
  });

  test.each(["--fixtures", "--collect-only", "--co", "--setup-plan", "--markers", "--help"])(
    "pytest %s runs no test, so its output is not summarized as one",
    (option) => {
      const output = `${SESSION}\n${many((i) => `tmp_path_${i} -- a folder`)}\n=== no tests ran in 0.02s ===\n`;
      expect(summarize(`pytest ${option}`, output)).toBeUndefined();
    },
  );

  test("a path that is not there is not called a success", () => {
    const output = `${SESSION}${many(() => "")}\n============ no tests ran in 0.02s ============\n`;
    const text = summarize("pytest nope.py", output, { exitCode: 4 })?.text;
    expect(text).toContain("no tests ran");
    expect(text).not.toContain("0 passed");
  });
});

describe("REQ-X4: what node:test runs say besides their results is kept", () => {
  const TESTS = `import test from "node:test"; import assert from "node:assert/strict";
${many((i) => `test("passes ${i}", () => {});`)}
test("breaks", () => {
  console.log("DEBUG total", { cents: 3 });
  console.error("ERROR seen");
  assert.equal(1, 2);
});
`;

  test.each(["spec", "tap"])(
    "prints of tests, and findings of a linter in the same script: %s",
    (reporter) => {
      const root = tempWorkspace({
        "a.test.mjs": TESTS,
        "package.json": JSON.stringify({
          scripts: { test: `echo a.js 3:1 warning unused foo && node --test` },
        }),
      });
      process.env["NODE_OPTIONS"] = `--test-reporter=${reporter}`;
      try {
        const { summary } = summarizeReal(["npm", "test"], root) ?? {};
        expect(summary?.text).toMatch(
          /^node:test: 1 failed, 60 passed[\s\S]*\[other output\]\na\.js 3:1 warning unused foo\nDEBUG total \{ cents: 3 \}\nERROR seen$/,
        );
      } finally {
        delete process.env["NODE_OPTIONS"];
      }
    },
  );

  test("a table of coverage, and the names of tests where a reporter is named", () => {
    const root = tempWorkspace({ "a.test.mjs": TESTS.replace("assert.equal(1, 2);", "") });
    const run = (...options: string[]): string | undefined =>
      summarizeReal([process.execPath, "--test", ...options], root)?.summary?.text;
    expect(run("--experimental-test-coverage")).toContain("all files");
    expect(run("--test-reporter=spec")).toContain("✔ passes 7 ");
    expect(run()).not.toContain("passes 7");
  });

  test("whole paths of the workspace are shown from there", () => {
    const root = tempWorkspace({ "a.test.mjs": TESTS });
    const { raw } = summarizeReal([process.execPath, "--test", "--test-reporter=tap"], root) ?? { raw: "" };
    const summary = summarize("node --test", raw, { exitCode: 1, root });
    expect(summary?.text).toContain("\nFAIL a.test.mjs:65 breaks\n");
  });

  test("the crash of a file that does not load is told once", () => {
    const root = tempWorkspace({ "a.test.mjs": TESTS, "b.test.mjs": 'import "no_such_module";\n' });
    const text = summarizeReal([process.execPath, "--test"], root)?.summary?.text ?? "";
    expect(text.match(/no_such_module/g)).toHaveLength(1);
    expect(text).not.toContain("ERR_MODULE_NOT_FOUND'");
  });
});

describe("REQ-X4: what vitest, jest, cargo and go say besides their results is kept", () => {
  test("vitest: what failed tests print comes first, then a table of coverage", () => {
    const stdout = `
 RUN  v5.1.0 /w
      Coverage enabled with v8

${many((i) => `stdout | a.test.ts > passes ${i}\nchatter ${i} ${"words ".repeat(10)}\n`)}
stdout | a.test.ts > breaks
DEBUG total 3

 ❯ a.test.ts (61 tests | 1 failed) 21ms
   × breaks 15ms

 Test Files  1 failed (1)
      Tests  1 failed | 60 passed (61)
   Duration  720ms
`;
    const stderr = `
⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  a.test.ts > breaks
AssertionError: expected 1 to be 2

 ❯ a.test.ts:3:31

⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/1]⎯

⎯⎯⎯⎯⎯⎯ Unhandled Errors ⎯⎯⎯⎯⎯⎯
Error: later
`;
    const summary = summarize("npx vitest run", stdout, { stderr, exitCode: 1 });
    expect(summary?.text).toMatch(/\[other output\]\nstdout \| a\.test\.ts > breaks\nDEBUG total 3\n/);
    expect(summary?.text).toMatch(/\[lines \d+–\d+ of \d+ left out\]/);
    expect(summary?.text).toContain("Error: later");
    expect(summary).toMatchObject({ keepsAll: false, tests: { other: expect.stringContaining("DEBUG") } });
    // In a run that asked for no more, other lines stay a small part of the answer.
    expect(summary?.text.length).toBeLessThan(2000);
    const table =
      " % Coverage report from v8\n-----------|---------|\nFile       | % Stmts |\n a.ts      |    90.1 |\n";
    expect(
      summarize("npx vitest run --coverage", `${stdout}${table}`, { stderr, exitCode: 1 })?.text,
    ).toContain(" a.ts      |    90.1 |");
  });

  test("jest: the console and a table of coverage; names where they were asked for", () => {
    const stderr = `PASS src/b.test.js
  sums
${many((i) => `    ✓ adds ${i} (1 ms)`)}

FAIL src/a.test.js
  ● Console

    console.log
      DEBUG jest

      at Object.<anonymous> (src/a.test.js:1:28)

  ● breaks

    expect(received).toBe(expected)

      at Object.<anonymous> (src/a.test.js:5:13)

Test Suites: 1 failed, 1 passed, 2 total
Tests:       1 failed, 60 passed, 61 total
Snapshots:   0 total
Time:        1.2 s
Ran all test suites.
`;
    const stdout = "----------|---------|\nFile      | % Stmts |\n----------|---------|\n";
    const of = (command: string): string | undefined =>
      summarize(command, stdout, { stderr, exitCode: 1 })?.text;
    expect(of("npx jest")).toMatch(
      /FAIL src\/a\.test\.js:5 breaks\nexpect\(received\)\.toBe\(expected\)\n\[other output\]\n---\|---\|\nFile {6}\| % Stmts \|\n---\|---\|\n\n {4}console\.log\n {6}DEBUG jest$/,
    );
    expect(of("npx jest --verbose")).toContain("sums\n    ✓ adds 0 (1 ms)");
  });

  test("cargo: warnings of the compiler; go: coverage", () => {
    const cargo = `running 60 tests\n${many((i) => `test t${i} ... ok`)}\n\ntest result: ok. 60 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n`;
    const stderr =
      "   Compiling x v0.1.0\nwarning: unused variable: `foo`\n    Finished `test` profile in 0.1s\n";
    expect(summarize("cargo test", cargo, { stderr })?.text).toBe(
      "cargo: 60 passed\n[other output]\nwarning: unused variable: `foo`",
    );
    const go = `${many((i) => `=== RUN   Test${i}\n--- PASS: Test${i} (0.00s)`)}\nPASS\nok  \texample.com/p\t0.003s\tcoverage: 81.5% of statements\n`;
    expect(summarize("go test -cover ./...", go)?.text).toContain("coverage: 81.5% of statements");
  });
});
