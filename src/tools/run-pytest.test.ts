import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp, type TestApp } from "../../test/app.ts";

/** Programs are looked for in the system's folders, so these tests need one there. */
const hasNode = existsSync("/usr/bin/node") || existsSync("/usr/local/bin/node");

const hasCargo = existsSync("/usr/bin/cargo") || existsSync("/usr/local/bin/cargo");

const NODE = '[mcp]\nmode = "classic"\n[mcp.tools]\nrun_cmd_allowlist = ["node"]\n';

const NODE_TESTS = {
  "package.json": '{"type":"module","scripts":{"test":"node --test"}}',
  "test/sum.test.js": `import test from "node:test";
import assert from "node:assert/strict";
test("adds", () => assert.equal(1 + 1, 2));
test("breaks", () => {
  assert.equal(1 + 1, 3);
});
test.skip("later", () => {});
`,
};

const ask = async (app: TestApp, args: unknown = {}) => {
  const result = await app.ask("run_pytest", args);
  return result.kind === "ok" ? result.structured : result;
};

/** A runner that says what a real one says, listed by its whole path as an operator would list one of an environment. */
const fakePytest = async (output: string, exitCode: number): Promise<TestApp> => {
  const app = await openTestApp({
    files: {
      "tests/test_a.py": "",
      "venv/bin/pytest": `#!/bin/sh\ncat <<'END'\n${output}\nEND\nexit ${exitCode}\n`,
    },
    overrides: { "mcp.mode": "classic" },
  });
  const program = join(app.root, "venv/bin/pytest");
  chmodSync(program, 0o755);
  return app;
};

describe("run_pytest", () => {
  test.runIf(hasNode)(
    "REQ-T2 REQ-X9: runs the tests of the workspace and gives failures with file and line",
    async () => {
      const app = await openTestApp({ files: NODE_TESTS, config: NODE });
      expect(await ask(app)).toMatchObject({
        data: {
          runner: "node:test",
          passed: 1,
          failed: 1,
          skipped: 1,
          errors: 0,
          exit_code: 1,
          failures: [
            {
              name: "breaks",
              file: "test/sum.test.js",
              line: 5,
              message: expect.stringContaining("2 !== 3"),
            },
          ],
        },
        meta: { timed_out: false, tier: expect.stringMatching(/bubblewrap|landlock|plain/) },
      });
      const text = await app.text("run_pytest");
      expect(text.split("\n")[0]).toBe("node:test: 1 failed, 1 passed, 1 skipped");
      expect(text).toMatch(/FAIL test\/sum\.test\.js:5 breaks\n/);
    },
  );

  test.runIf(hasNode)("a run that passes costs one line", async () => {
    const app = await openTestApp({
      files: { ...NODE_TESTS, "test/sum.test.js": 'import test from "node:test";\ntest("a", () => {});\n' },
      config: NODE,
    });
    expect(await app.text("run_pytest", { paths: ["test/sum.test.js"] })).toBe("node:test: 1 passed");
  });

  test.runIf(hasNode)("a runner that does not come to counting shows what it said", async () => {
    const app = await openTestApp({ files: NODE_TESTS, config: NODE });
    const text = await app.text("run_pytest", { args: ["--no-such-option"] });
    expect(text).toMatch(/^node:test ended before it reported any counts[\s\S]*bad option[\s\S]*\[exit 9/);
  });

  test("no runner: an error that says which ones are known", async () => {
    const app = await openTestApp({ files: { "readme.md": "" }, overrides: { "mcp.mode": "classic" } });
    const result = await app.ask("run_pytest");
    expect(result).toMatchObject({ body: { meta: { error_code: "unavailable" } } });
    expect(JSON.stringify(result)).toContain("package.json");
  });

  test("REQ-D15: a program that is not allowed is refused, with how to allow it", async () => {
    const app = await openTestApp({ files: NODE_TESTS, overrides: { "mcp.mode": "classic" } });
    const result = await app.ask("run_pytest");
    if (!hasNode) return expect(result).toMatchObject({ body: { meta: { error_code: "unavailable" } } });
    expect(result).toMatchObject({ body: { meta: { error_code: "forbidden" } } });
    expect(JSON.stringify(result)).toMatch(
      /llmc allow node \(run_cmd_allowlist under \[mcp\.tools\] in llmc\.toml\)/,
    );
  });

  test.runIf(!hasCargo)("a program that is not on the machine is an error that says so", async () => {
    const app = await openTestApp({
      files: { "Cargo.toml": '[package]\nname = "a"\n' },
      config: '[mcp]\nmode = "classic"\n[mcp.tools]\nrun_cmd_allowlist = ["cargo"]\n',
    });
    const result = await app.ask("run_pytest");
    expect(result).toMatchObject({ body: { meta: { error_code: "unavailable" } } });
    expect(JSON.stringify(result)).toContain("there is no cargo");
  });

  test("an option among the paths is refused", async () => {
    const app = await openTestApp({ files: { "test_a.py": "" }, overrides: { "mcp.mode": "classic" } });
    expect(await app.errorCode("run_pytest", { paths: ["--junitxml=/tmp/x"] })).toBe("invalid_args");
  });

  test("REQ-D15 the pytest of the workspace's own environment is the one that is run, or that has to be allowed", async () => {
    const app = await fakePytest("3 passed in 0.01s", 0);
    const refused = await app.ask("run_pytest");
    expect(JSON.stringify(refused)).toContain("llmc allow venv/bin/pytest (run_cmd_allowlist");
    const canAsk = (): boolean => true;
    const asked = await app.ask("run_pytest", {}, { canAsk });
    if (asked.kind !== "questions") throw new Error(JSON.stringify(asked));
    expect(JSON.stringify(asked.questions)).toContain(join(app.root, "venv/bin/pytest"));
    const answers = { grant: { action: "accept" } };
    expect(await app.ask("run_pytest", {}, { canAsk, answers, state: asked.state })).toMatchObject({
      structured: { data: { runner: "pytest", passed: 3, failed: 0 } },
    });
  });

  test("a pytest of an environment is run by the path that the operator listed", async () => {
    const app = await fakePytest(
      "FAILED tests/test_a.py::test_x - assert 1 == 2\n1 failed, 4 passed, 2 warnings in 0.12s",
      1,
    );
    const listed = await openTestApp({
      files: { "tests/test_a.py": "" },
      config: `[mcp]\nmode = "classic"\n[mcp.tools]\nrun_cmd_allowlist = ["${join(app.root, "venv/bin/pytest")}"]\nallowed_roots = [".", "${app.root}"]\n`,
    });
    // REQ-X1: what an argument could do is judged for this tool as for every other.
    expect(await listed.errorCode("run_pytest", { args: ["--pastebin=all"] })).toBe("forbidden");
    expect(await ask(listed)).toMatchObject({
      data: {
        runner: "pytest",
        passed: 4,
        failed: 1,
        failures: [{ name: "tests/test_a.py::test_x", file: "tests/test_a.py", message: "assert 1 == 2" }],
      },
    });
  });
});
