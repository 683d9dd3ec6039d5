import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openTestApp, type TestApp } from "../app.ts";

const CONFIG = `[mcp]
mode = "classic"
[mcp.tools]
run_cmd_allowlist = ["python3"]
command_powers = ["python3:run"]
`;

const PLANT = `
import os, sys
for path in sys.argv[1:]:
    if os.path.dirname(path): os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write("touch fired\\n")
`;

/** Says that it runs, waits, and then writes over what it is told. */
const OVERWRITE = `
import os, sys, time
open("ready", "w").close()
while not os.path.exists("go"): time.sleep(0.01)
for path in sys.argv[1:]:
    with open(path, "r+") as file: file.write("touch fired\\n")
`;

const FILES = { "plant.py": PLANT, "overwrite.py": OVERWRITE };

const write = async (app: TestApp, path: string, content = "echo mine\n"): Promise<void> =>
  expect(await app.ask("linux_fs_write", { path, content })).toMatchObject({ kind: "ok" });

const run = async (app: TestApp, command: string): Promise<string> => {
  const result = await app.ask("run_cmd", { command });
  expect(result).toMatchObject({ kind: "ok" });
  return JSON.stringify(result);
};

const whileItRuns = async (app: TestApp, command: string, work: () => Promise<void>): Promise<string> => {
  const running = run(app, command);
  while (!existsSync(join(app.root, "ready"))) await sleep(10);
  await work();
  writeFileSync(join(app.root, "go"), "");
  return running;
};

describe("FAIL-J1 REQ-D16 what a file tool wrote excuses that very file, and nothing else", () => {
  test("not what a command makes under the same name when it is gone", async () => {
    const app = await openTestApp({ config: CONFIG, files: FILES });
    for (const path of [".envrc", ".vscode/settings.json"]) await write(app, path);
    for (const path of [".envrc", ".vscode"]) rmSync(join(app.root, path), { recursive: true });
    const answer = await run(app, "python3 plant.py .envrc .vscode/tasks.json");
    for (const path of [".envrc", ".vscode"]) {
      expect(existsSync(join(app.root, path)), path).toBe(false);
      expect(answer).toContain(`${path}.refused-`);
    }
  });

  test("not the files that a command puts beside it", async () => {
    const app = await openTestApp({ config: CONFIG, files: FILES });
    const answer = await whileItRuns(app, "python3 overwrite.py && python3 plant.py .vscode/tasks.json", () =>
      write(app, "sub/.vscode/settings.json"),
    );
    expect(answer).toContain(".vscode.refused-");
    expect(existsSync(join(app.root, "sub/.vscode/settings.json"))).toBe(true);
    rmSync(join(app.root, "ready"));
    rmSync(join(app.root, "go"));
    const beside = `${OVERWRITE}\nopen(".idea/workspace.xml", "w").write("planted")\n`;
    await write(app, "beside.py", beside);
    await whileItRuns(app, "python3 beside.py", () => write(app, ".idea/mine.xml"));
    expect(existsSync(join(app.root, ".idea"))).toBe(false);
  });

  test("not what a command writes into it afterwards", async () => {
    const app = await openTestApp({ config: CONFIG, files: FILES });
    const answer = await whileItRuns(app, "python3 overwrite.py .envrc", () => write(app, ".envrc"));
    expect(existsSync(join(app.root, ".envrc")), answer).toBe(false);
  });

  test("but it stays as it was written, with the folders that were made for it", async () => {
    const app = await openTestApp({ config: CONFIG, files: { ...FILES, template: "x\n" } });
    const answer = await whileItRuns(app, "python3 overwrite.py", async () => {
      for (const path of [".envrc", ".vscode/settings.json", ".vscode/deep/er.json"]) await write(app, path);
      await app.ask("linux_fs_move", { source: "template", target: "sub/.envrc" });
      await app.ask("linux_fs_mkdir", { path: ".idea/empty" });
      await write(app, "other/.envrc");
      await app.ask("linux_fs_append", { path: "other/.envrc", content: "more\n" });
    });
    expect(answer).not.toContain(".refused-");
    for (const path of [".envrc", ".vscode/settings.json", ".vscode/deep/er.json", ".idea/empty"])
      expect(existsSync(join(app.root, path)), path).toBe(true);
  });

  test("not what a command puts into a folder that it holds open while a tool moves it to such a name", async () => {
    const held = `
import os, time
root = os.getcwd(); os.chdir("d/h"); open(root + "/ready", "w").close()
while not os.path.exists(root + "/go"): time.sleep(0.01)
open("pre-commit", "w").write("touch fired")
`;
    const app = await openTestApp({ config: CONFIG, files: { "held.py": held, "d/k": "" } });
    mkdirSync(join(app.root, "d/h"));
    execFileSync("git", ["init", "-q", app.root]);
    execFileSync("git", ["config", "core.hooksPath", "hooks"], { cwd: app.root });
    const answer = await whileItRuns(app, "python3 held.py", async () => {
      expect(await app.ask("linux_fs_move", { source: "d/h", target: "hooks" })).toMatchObject({
        kind: "ok",
      });
    });
    expect(answer).toContain("hooks.refused-");
    expect(existsSync(join(app.root, "hooks"))).toBe(false);
  });

  test("not what a command changes through a mapping of a file that a tool moves to such a name", async () => {
    const mapped = `
import mmap, os, time
held = mmap.mmap(os.open("d/x", os.O_RDWR), 0)
held[0:1] = b"m"
open("ready", "w").close()
while not os.path.exists("go"): time.sleep(0.01)
held[0:9] = b"touch x  "
`;
    const files = { "mapped.py": mapped, "d/x": "my own text\n", "sub/k": "" };
    const app = await openTestApp({ config: CONFIG, files });
    const answer = await whileItRuns(app, "python3 mapped.py", async () => {
      expect(await app.ask("linux_fs_move", { source: "d/x", target: "sub/.envrc" })).toMatchObject({
        kind: "ok",
      });
    });
    expect(answer).toContain("sub/.envrc.refused-");
    expect(existsSync(join(app.root, "sub/.envrc"))).toBe(false);
  });
});
