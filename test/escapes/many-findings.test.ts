import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp, type TestApp } from "../app.ts";

const MANY = `
import os, sys, time
kind, count = sys.argv[1], int(sys.argv[2])
def repository(at, settings):
    try:
        os.makedirs(at + "/.git/objects"); os.makedirs(at + "/.git/refs")
        open(at + "/.git/config", "w").write(settings)
        open(at + "/.git/HEAD", "w").write("ref: refs/heads/main\\n")
    except FileNotFoundError: pass # It was renamed when it was half made.
if kind == "files":
    for at in range(count): open("t/%d.code-workspace" % at, "w").close()
if kind == "plain":
    for at in range(count): repository("t/%d" % at, "[core]\\n\\tbare = false\\n")
    while True: time.sleep(1)
if kind == "forever":
    at = 0
    while True:
        for more in range(count): repository("t/%d" % (at + more), "[core]\\n\\tfsmonitor = evil\\n")
        at += count
        while any(os.path.exists("t/%d/.git" % done) for done in range(at - count, at)): time.sleep(0.05)
`;

const open = (): Promise<TestApp> =>
  openTestApp({
    files: { "many.py": MANY, "t/keep": "" },
    overrides: {
      "mcp.mode": "classic",
      "mcp.tools.run_cmd_allowlist": "python3",
      "mcp.tools.command_powers": "python3:run",
    },
  });

describe("FAIL-D6 FAIL-J1 programs that make more than can be watched", () => {
  test.each([
    { kind: "plain", count: 510 },
    { kind: "forever", count: 260 },
  ])("a process is ended, and says why: $kind", async ({ kind, count }) => {
    const app = await open();
    const started = await app.text("linux_proc_start", { command: `python3 many.py ${kind} ${count}` });
    const proc_id = /p_\w+/.exec(started)?.[0] ?? "";
    let output = started;
    while (!output.includes("[ended") && !output.includes("exit"))
      output += await app.text("linux_proc_read", { proc_id, wait_ms: 500 });
    expect(output).toContain("more than 500 repositories and start-up files appeared while it ran");
    const folders = readdirSync(join(app.root, "t")).filter((name) => name !== "keep");
    expect(folders.filter((name) => existsSync(join(app.root, "t", name, ".git")))).toEqual([]);
    expect(output.length).toBeLessThan(20_000);
  });

  test("an answer names the first that were renamed, and how many more", async () => {
    const app = await open();
    const answer = await app.text("run_cmd", { command: "python3 many.py files 60" });
    expect(answer).toContain("and 40 more");
    expect(answer.match(/-> /g)).toHaveLength(20);
    const names = readdirSync(join(app.root, "t"));
    expect(names.filter((name) => name.endsWith(".code-workspace"))).toEqual([]);
    expect((await app.logs()).match(/ -> /g)).toHaveLength(60);
  });
});
