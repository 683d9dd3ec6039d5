import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { summarize, summarizeReal } from "../../../test/summarize.ts";
import { parseGo } from "./go.ts";
import { parseJest } from "./jest.ts";
import { parsePytest } from "./pytest.ts";
import { parsersFor } from "./which.ts";

const PYTEST = `============================= test session starts ==============================
collected 7 items / 1 error

==================================== ERRORS ====================================
__________________________ ERROR at setup of test_err __________________________

    def broken(): raise RuntimeError("no fixture")
E   RuntimeError: no fixture

tests/test_a.py:15: RuntimeError
=================================== FAILURES ===================================
___________________________________ test_eq ____________________________________

>       assert a == {"x": 2}
E       AssertionError: assert {'x': 1} == {'x': 2}
E         Differing items:

tests/test_a.py:7: AssertionError
______________________________ TestC.test_deep[1] ______________________________
tests/test_a.py:11: in test_deep
    helper(n)
lib/help.py:3: in helper
    raise ValueError("bad")
E   ValueError: bad 1
=========================== short test summary info ============================
FAILED tests/test_a.py::test_eq - AssertionError: assert {'x': 1} == {'x': 2}
FAILED tests/test_a.py::TestC::test_deep[1] - ValueError: bad 1
ERROR tests/test_a.py::test_err - RuntimeError: no fixture
========= 2 failed, 3 passed, 1 skipped, 2 xfailed, 1 error in 0.71s ==========
`;

describe("pytest", () => {
  test("REQ-X4: totals, and failures with file, line and complaint", () => {
    expect(parsePytest(PYTEST)).toMatchObject({
      passed: 3,
      failed: 2,
      skipped: 1,
      errors: 1,
      failures: [
        {
          name: "tests/test_a.py::test_err",
          file: "tests/test_a.py",
          line: 15,
          message: "RuntimeError: no fixture",
        },
        { name: "tests/test_a.py::test_eq", line: 7 },
        // The location of the test, not of the code that it called.
        {
          name: "tests/test_a.py::TestC::test_deep[1]",
          file: "tests/test_a.py",
          line: 11,
          message: "ValueError: bad 1",
        },
      ],
    });
  });

  test("failures come first in the text, passes are only counted", () => {
    const summary = summarize("python3 -m pytest", PYTEST, { exitCode: 1 });
    expect(summary?.text).toMatch(
      /^pytest: 1 error, 2 failed, 3 passed, 1 skipped; 2 xfailed; 0\.71s\nFAIL tests\/test_a\.py:15 test_err\n/,
    );
    expect(summary?.matchCount).toBe(3);
  });

  test("only the summary, no tests, and output that is none", () => {
    expect(parsePytest("FAILED a/test_b.py::t - boom\n1 failed, 2 passed in 0.1s\n")).toMatchObject({
      failed: 1,
      failures: [{ file: "a/test_b.py", line: null, message: "boom" }],
    });
    expect(parsePytest("no tests ran in 0.01s\n")).toMatchObject({
      passed: 0,
      failed: 0,
      notes: ["no tests ran", "0.01s"],
    });
    expect(parsePytest("ERROR: usage: pytest [options]\n")).toBeUndefined();
  });
});

describe("runners that are on this machine", () => {
  const NODE_TEST = `import test from "node:test"; import assert from "node:assert/strict";
test("adds", () => assert.equal(2, 2));
test("breaks", () => {
  assert.equal(1, 2);
});
test.skip("later", () => {});
`;

  test.each(["spec", "tap"])("node:test, %s", (reporter) => {
    const root = tempWorkspace({ "a.test.mjs": NODE_TEST });
    const { summary } =
      summarizeReal([process.execPath, "--test", `--test-reporter=${reporter}`], root) ?? {};
    expect(summary?.tests).toMatchObject({
      runner: "node:test",
      passed: 1,
      failed: 1,
      skipped: 1,
      failures: [
        {
          name: "breaks",
          file: expect.stringMatching(/a\.test\.mjs$/),
          line: 4,
          message: expect.stringContaining("1 !== 2"),
        },
      ],
    });
  });
});

describe("REQ-X4: a run of node:test is known by what it writes, whoever starts it", () => {
  const RUN = `import { run } from "node:test"; import { spec } from "node:test/reporters";
run({ files: ["a.test.mjs"], cwd: import.meta.dirname }).on("test:fail", () => { process.exitCode = 1; }).compose(spec).pipe(process.stdout);
`;
  const TESTS = `import test from "node:test"; import assert from "node:assert/strict";
for (let i = 0; i < 400; i++) test("should report error number " + i, () => {});
test("this one is broken", () => {
  assert.equal(2, 3);
});
`;
  const broken = {
    name: "this one is broken",
    file: expect.stringMatching(/a\.test\.mjs$/),
    line: 4,
    message: expect.stringContaining("2 !== 3"),
  };

  test("a runner of one's own, started by node or by a program of any name", () => {
    const root = tempWorkspace({ "a.test.mjs": TESTS, "run.mjs": RUN });
    const { raw = "", summary } = summarizeReal([process.execPath, "run.mjs"], root) ?? {};
    expect(summary?.tests).toMatchObject({ passed: 400, failed: 1, failures: [broken] });
    for (const command of ["borp", "npx --no-install borp", "npm run unit", "make unit"]) {
      const { text = "" } = summarize(command, raw, { exitCode: 1 }) ?? {};
      expect(text, command).toMatch(
        /^node:test: 1 failed, 400 passed; \d+ms\nFAIL \S*a\.test\.mjs:4 this one is broken\n/,
      );
      expect(text, command).not.toContain("should report");
    }
  });

  test("errors below their results, without a list of them at the end", () => {
    const lines = Array.from({ length: 600 }, (_, i) =>
      i === 300
        ? "✖ this one is broken (2.1ms)\n  AssertionError: 2 !== 3\n      at /x/a.test.mjs:4:46\n"
        : `✔ should report error number ${i} (1ms)`,
    );
    const stdout = `${lines.join("\n")}\nℹ tests 600\nℹ pass 599\nℹ fail 1\n`;
    expect(summarize("node print.js", stdout, { exitCode: 1 })?.tests?.failures).toEqual([broken]);
    // Two runs, or failures that are told nowhere: the totals alone would hide something.
    for (const other of [stdout + stdout, stdout.replace(/✖.*\n.*\n.*\n/, "")])
      expect(summarize("node print.js", other, { exitCode: 1 })?.tests).toBeUndefined();
  });

  test("a short text that quotes a run is shown as it is", () => {
    const quoted = "✔ a (1ms)\nℹ tests 1\nℹ pass 1\nℹ fail 0\n";
    expect(summarize("sed -n 1,4p log", quoted)).toBeUndefined();
  });
});

describe("vitest and jest", () => {
  test("vitest: failed tests and files that do not load; the failures are on the error stream", () => {
    const stdout = `
 RUN  v3.0.0 /w

 ❯ a.test.ts (3 tests | 1 failed) 21ms
   × sums > breaks 15ms

 Test Files  2 failed | 1 passed (3)
      Tests  1 failed | 2 passed | 1 skipped (4)
   Duration  720ms
`;
    const stderr = `
⎯⎯⎯⎯⎯⎯ Failed Suites 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  b.test.ts [ b.test.ts ]
Error: Cannot find module './nothing.ts'
 ❯ b.test.ts:1:1
      1| import "./nothing.ts";

⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/2]⎯

⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  a.test.ts > sums > breaks
AssertionError: expected 1 to be 2 // Object.is equality

- Expected
+ Received

- 2
+ 1

 ❯ helper.ts:9:3
 ❯ a.test.ts:3:31
      3|   expect(1).toBe(2);

⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[2/2]⎯
`;
    for (const command of ["npx vitest run", "npm test", "node node_modules/vitest/vitest.mjs run"]) {
      const summary = summarize(command, stdout, { stderr, exitCode: 1 });
      expect(summary?.tests).toMatchObject({ runner: "vitest", passed: 2, failed: 1, skipped: 1, errors: 1 });
      expect(summary?.tests?.failures).toMatchObject([
        {
          name: "b.test.ts",
          file: "b.test.ts",
          line: 1,
          message: "Error: Cannot find module './nothing.ts'",
        },
        { name: "sums > breaks", file: "a.test.ts", line: 3, message: expect.stringContaining("- 2\n+ 1") },
      ]);
    }
  });

  test("jest", () => {
    const output = `PASS src/a.test.js
FAIL src/b.test.js (5.1 s)
  ● suite › breaks

    expect(received).toBe(expected) // Object.is equality

    Expected: 2
    Received: 1

      4 |
    > 5 |   expect(1).toBe(2);
        |             ^

      at Object.toBe (node_modules/expect/x.js:1:1)
      at Object.<anonymous> (src/b.test.js:5:13)

Test Suites: 1 failed, 1 passed, 2 total
Tests:       1 failed, 1 todo, 3 passed, 5 total
Time:        1.2 s
`;
    expect(parseJest(output)).toMatchObject({
      passed: 3,
      failed: 1,
      skipped: 1,
      failures: [
        {
          name: "suite › breaks",
          file: "src/b.test.js",
          line: 5,
          message: expect.stringContaining("Expected: 2\nReceived: 1"),
        },
      ],
    });
  });
});

describe("cargo and go", () => {
  test("cargo: results of several binaries are added up; code that does not compile is an error", () => {
    const binary =
      "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
    const failed = `running 2 tests
test tests::bad ... FAILED

failures:

---- tests::bad stdout ----
hello

thread 'tests::bad' (2253) panicked at src/lib.rs:6:43:
assertion \`left == right\` failed: sum
  left: 2
 right: 3
note: run with \`RUST_BACKTRACE=1\`

failures:
    tests::bad

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.17s
`;
    expect(
      summarize("cargo test", binary + failed, { stderr: "   Compiling x\n".repeat(30), exitCode: 101 })
        ?.tests,
    ).toMatchObject({
      passed: 4,
      failed: 1,
      skipped: 1,
      failures: [
        {
          name: "tests::bad",
          file: "src/lib.rs",
          line: 6,
          message: "assertion `left == right` failed: sum\n  left: 2\n right: 3\nhello",
        },
      ],
    });
    const stderr =
      "error[E0308]: mismatched types\n --> src/lib.rs:3:5\n  |\nerror: could not compile `x` due to 1 previous error\n";
    expect(summarize("cargo test", "", { stderr, exitCode: 101 })?.tests).toMatchObject({
      errors: 1,
      failures: [{ file: "src/lib.rs", line: 3 }],
    });
  });

  test("go: plain, -v and -json agree on the failure", () => {
    const plain =
      "--- FAIL: TestX (0.00s)\n    x_test.go:12: got 1, want 2\nFAIL\nFAIL\texample.com/p\t0.003s\nok  \texample.com/q\t0.002s\n";
    const verbose =
      "=== RUN   TestX\n    x_test.go:12: got 1, want 2\n--- FAIL: TestX (0.00s)\n=== RUN   TestY\n--- PASS: TestY (0.00s)\nFAIL\nFAIL\texample.com/p\t0.003s\n";
    const event = (fields: object): string => JSON.stringify({ Package: "example.com/p", ...fields });
    const json = [
      event({ Action: "output", Test: "TestX", Output: "    x_test.go:12: got 1, want 2\n" }),
      event({ Action: "fail", Test: "TestX" }),
      event({ Action: "pass", Test: "TestY" }),
      event({ Action: "fail" }),
    ].join("\n");
    const failures = [{ name: "TestX", file: "x_test.go", line: 12, message: "got 1, want 2" }];
    expect(parseGo(plain)).toMatchObject({ failed: 1, failures, notes: ["packages: 1 ok, 1 failed"] });
    expect(parseGo(verbose)).toMatchObject({ failed: 1, passed: 1, failures });
    expect(parseGo(json)).toMatchObject({ failed: 1, passed: 1, failures });
    expect(
      parseGo("# example.com/p\n./x.go:3:5: undefined: foo\nFAIL\texample.com/p [build failed]\n"),
    ).toMatchObject({
      errors: 1,
      failures: [{ file: "x.go", line: 3, message: "undefined: foo" }],
    });
  });
});

describe("REQ-X4: one file's name never stands with another's line", () => {
  test("go -v: a test of the same name that another package skips", () => {
    const output = [
      "=== RUN   TestAdds",
      "    b_test.go:14: not today",
      "--- SKIP: TestAdds (0.00s)",
      "PASS",
      "ok  \texample.com/b\t0.002s",
      "=== RUN   TestAdds",
      "    a_test.go:12: exploded",
      "--- FAIL: TestAdds (0.00s)",
      "FAIL",
      "FAIL\texample.com/a\t0.002s",
    ].join("\n");
    expect(parseGo(output)?.failures).toEqual([
      { name: "TestAdds", file: "a_test.go", line: 12, message: "exploded" },
    ]);
  });

  test("pytest: the same test name in two files, and a failure outside of the test", () => {
    const output = `=================================== FAILURES ===================================
___________________________________ test_x ____________________________________
sub/test_a.py:40: in test_x
    assert 1 == 2
E   assert 1 == 2
___________________________________ test_x ____________________________________

    def test_x():
>       explode()

test_a.py:7: 
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

>   raise ValueError()
E   ValueError

helper.py:90: ValueError
=========================== short test summary info ============================
FAILED test_a.py::test_x - ValueError
FAILED sub/test_a.py::test_x - assert 1 == 2
ERROR test_c.py::test_y - no location at all
============================== 2 failed, 1 error in 0.12s ===============================
`;
    const locations = parsePytest(output)?.failures.map(({ name, file, line }) => [name, file, line]);
    expect(locations).toEqual([
      ["sub/test_a.py::test_x", "sub/test_a.py", 40],
      ["test_a.py::test_x", "test_a.py", 7],
      ["test_c.py::test_y", "test_c.py", null],
    ]);
  });

  test("pytest: an error of a fixture elsewhere is told where it is", () => {
    const output = `==================================== ERRORS ====================================
_________________________ ERROR at setup of test_x __________________________
conftest.py:15: in broken
    raise RuntimeError("no fixture")
E   RuntimeError: no fixture
=========================== short test summary info ============================
ERROR test_a.py::test_x - RuntimeError: no fixture
=============================== 1 error in 0.12s ===============================
`;
    expect(parsePytest(output)?.failures).toMatchObject([
      { name: "test_a.py::test_x", file: "conftest.py", line: 15 },
    ]);
  });

  test("jest (recorded form): equal titles, and a frame of a file whose path ends like the test's", () => {
    const block = (frame: string): string => `  ● suite › breaks

    expect(received).toBe(expected)

      at Object.<anonymous> (${frame})
`;
    const output = `FAIL src/a.test.js
${block("/w/src/a.test.js:5:13")}
FAIL src/sub/a.test.js
  ● suite › breaks

    Error: exploded

      at explode (/w/src/helper.js:90:9)
      at Object.<anonymous> (/w/src/sub/a.test.js:8:3)

Test Suites: 2 failed, 2 total
Tests:       2 failed, 2 total
`;
    const locations = parseJest(output)?.failures.map(({ name, file, line }) => [name, file, line]);
    expect(locations).toEqual([
      ["suite › breaks", "/w/src/a.test.js", 5],
      ["suite › breaks", "/w/src/sub/a.test.js", 8],
    ]);
  });

  test("go (recorded form): the same test in two packages keeps its own line", () => {
    const output = [
      "--- FAIL: TestX (0.00s)",
      "    x_test.go:12: got 1, want 2",
      "FAIL",
      "FAIL\texample.com/p\t0.003s",
      "--- FAIL: TestX (0.00s)",
      "    y_test.go:99: got 3, want 4",
      "FAIL",
      "FAIL\texample.com/q\t0.003s",
      "",
    ].join("\n");
    const locations = parseGo(output)?.failures.map(({ name, file, line }) => [name, file, line]);
    expect(locations).toEqual([
      ["TestX", "x_test.go", 12],
      ["TestX", "y_test.go", 99],
    ]);
  });
});

describe("which command is a test run", () => {
  test.each([
    ["pytest -q", 1],
    ["python3.11 -m pytest tests", 1],
    ["python script.py", 0],
    ["uv run pytest", 1],
    ["npx --yes vitest run", 1],
    ["npx tsc", 0],
    ["npm test", 4],
    ["npm run test:unit", 4],
    ["npm run build", 0],
    ["node --test", 1],
    ["node server.js", 0],
    ["cargo +nightly test", 1],
    ["cargo build", 0],
    ["go test ./...", 1],
    ["go vet", 0],
  ])("%s: %i ways to read it", (command, ways) => {
    expect(parsersFor(command.split(" "))).toHaveLength(ways);
  });

  test("a run that failed for another reason keeps what was said", () => {
    const stdout = `${"ok line\n".repeat(80)}3 passed in 0.1s\nFAIL Required coverage of 90% not reached\n`;
    const summary = summarize("pytest", stdout, { exitCode: 1, stderr: "coverage: too low\n" });
    expect(summary?.text).toContain("Required coverage of 90% not reached");
    expect(summary?.stderr).toBeUndefined();
  });
});
