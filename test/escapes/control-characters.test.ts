import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openTestApp, TEST_CALLER } from "../app.ts";
import { runLlmc, startLlmc } from "../command-line.ts";
import { isFull } from "../rounds.ts";
import { cleanEnv, launcher } from "../workspace.ts";

const RAW = "\u001b]0;owned\u0007\u001b[2Jgone\rback \u009b31m\u001b[32mgreen\u001b[0m\n";
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not come through.
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000d-\u001f\u007f-\u009f]/;
const SHOWN = "␛]0;owned␇␛[2Jgone␍back";

const CONFIG = `[mcp]
mode = "classic"
[mcp.tools]
enable_run_cmd = true
run_cmd_allowlist = ["cat"]
command_sandbox = "off"
`;

/** What differs neither by tier nor by user is not repeated. */
const testOnce = isFull ? test : () => {};

describe("FAIL-J12: control characters of a command's output", () => {
  test.each([
    ["run_cmd", { command: "cat evil.txt" }],
    ["te_run", { command: "cat evil.txt" }],
    ["te_run", { args: ["cat", "evil.txt"], raw: true }],
    ["linux_proc_start", { command: "cat evil.txt", wait_ms: 2000 }],
  ])("%s shows them, %o", async (tool, args) => {
    const app = await openTestApp({ config: CONFIG, files: { "evil.txt": RAW } });
    const text = await app.text(tool, args);
    expect(text).not.toMatch(CONTROLS);
    expect(text).toContain(SHOWN);
    expect(text).toContain("green");
  });

  test("linux_proc_read, with and without a terminal", async () => {
    const app = await openTestApp({ config: CONFIG, files: { "evil.txt": RAW } });
    for (const pty of [false, true]) {
      const started = await app.ask("linux_proc_start", { command: "cat evil.txt", pty, wait_ms: 0 });
      const { proc_id } = (started.kind === "ok" ? started.structured : {}) as { proc_id: string };
      expect(await app.text("linux_proc_read", { proc_id, from: 0, wait_ms: 2000 })).not.toMatch(CONTROLS);
      expect(await app.text("linux_proc_read", { proc_id, lines: 5 })).not.toMatch(CONTROLS);
    }
  });

  test("what is kept behind a handle is shown the same way, by every reader", async () => {
    const app = await openTestApp({ config: CONFIG, files: { "evil.txt": RAW.repeat(5000) } });
    const result = await app.ask("run_cmd", { command: "cat evil.txt" });
    const { handle } = (
      result.kind === "ok" ? (result.structured as { meta: { handle: string } }).meta : {}
    ) as {
      handle: string;
    };
    for (const [tool, args] of [
      ["linux_handle_read", { handle }],
      ["linux_handle_read", { handle, chunk: 0 }],
      ["read_file", { path: `handle:${handle}` }],
      ["run_cmd", { command: `te --handle ${handle}` }],
    ] as const) {
      const text = await app.text(tool, args);
      expect(text).not.toMatch(CONTROLS);
      expect(text).toContain("owned");
    }
    const origin = { caller: TEST_CALLER, correlationId: "c" };
    const resource = await app.core.readResource(`llmc://handles/${handle}`, origin);
    expect("text" in resource && resource.text).not.toMatch(CONTROLS);
  });

  test("FAIL-A15 a file's own content stays what it is", async () => {
    const app = await openTestApp({ config: CONFIG, files: { "evil.txt": RAW } });
    expect(await app.text("read_file", { path: "evil.txt" })).toBe(RAW);
  });
});

describe("FAIL-J12: llmc call", () => {
  const call = (root: string, onTerminal: boolean): string => {
    const line = `'${launcher}' call read_file --root '${root}' --json '{"path":"evil.txt"}'`;
    const [program, args] = onTerminal ? ["script", ["-qec", line, "/dev/null"]] : ["sh", ["-c", line]];
    return spawnSync(program as string, args as string[], { env: cleanEnv(), encoding: "utf8", cwd: "/" })
      .stdout;
  };
  test("shows them on a terminal, and gives them as they are to a pipe", () => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "llmc-controls-")));
    writeFileSync(join(root, "evil.txt"), RAW);
    try {
      expect(call(root, false)).toBe(RAW);
      expect(call(root, true).replaceAll("\r\n", "\n")).toBe(`${SHOWN} \\x9b31mgreen\n`);
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});

describe("FAIL-J12: a workspace whose own name has control characters", () => {
  const open = (start = runLlmc) => {
    const parent = realpathSync(mkdtempSync(join(tmpdir(), "llmc-name-")));
    onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
    const root = join(parent, "w\u001b]0;owned\u0007\u009b31m");
    mkdirSync(root);
    writeFileSync(join(root, "llmc.toml"), '[mcp.tools]\nrun_cmd_allowlist = ["npm"]\n');
    return {
      root,
      run: async (...args: readonly string[]): Promise<string> => {
        const { out, err } = await start(root, args, { env: cleanEnv() });
        return out + err;
      },
    };
  };

  test.each([
    ["trust", "--yes"],
    ["trust", "--revoke"],
    ["trust"],
    ["doctor"],
    ["repo", "validate"],
    ["config", "validate"],
    ["config", "validate", "too", "many", "\u001b[2J"],
    ["\u001b[2J"],
    ["call", "\u001b[2J"],
    ["locks"],
    ["quarantine"],
    ["tools"],
  ])("llmc %s %s shows them", async (...args) => {
    const text = await open().run(...args.filter((arg) => typeof arg === "string"));
    expect(text).not.toBe("");
    expect(text).not.toMatch(CONTROLS);
  });

  testOnce("a process of its own shows them as well, on both streams", async () => {
    for (const command of ["doctor", "\u001b[2J"]) {
      const text = await open(startLlmc).run(command);
      expect(text).not.toBe("");
      expect(text).not.toMatch(CONTROLS);
    }
  });

  testOnce("data for programs is what it is", async () => {
    const { root, run } = open(startLlmc);
    const { workspace } = JSON.parse(await run("trust", "--yes", "--json")) as { workspace: string };
    expect(workspace).toBe(root);
  });
});
