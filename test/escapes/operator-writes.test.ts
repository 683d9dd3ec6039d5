import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openTestApp, type TestApp } from "../app.ts";
import { runLlmc } from "../command-line.ts";
import { USER_STATE } from "../user-state.ts";

/** Says that it runs, waits, and then does what it is told. */
const WAIT = `
import os, sys, time
open("ready", "w").close()
while not os.path.exists("go"): time.sleep(0.01)
for path in sys.argv[1:]:
    try:
        text = open(path).read()
        with open(path, "r+") as file: file.write(text)
    except OSError as error: print(error)
`;

const open = (): Promise<TestApp> =>
  openTestApp({
    files: { "wait.py": WAIT, "package.json": "{}\n" },
    overrides: {
      "mcp.mode": "classic",
      "mcp.tools.run_cmd_allowlist": "python3",
      "mcp.tools.command_powers": "python3:run",
    },
  });

/** What the answer to a command says, during which something else was done. */
const during = async (app: TestApp, command: string, work: () => Promise<void> | void): Promise<string> => {
  const running = app.ask("run_cmd", { command });
  while (!existsSync(join(app.root, "ready"))) await sleep(10);
  await work();
  writeFileSync(join(app.root, "go"), "");
  const result = await running;
  expect(result).toMatchObject({ kind: "ok" });
  return JSON.stringify(result);
};

const llmc = async (app: TestApp, ...args: readonly string[]): Promise<void> => {
  const ended = await runLlmc(app.root, args, {
    env: { PATH: "/usr/bin:/bin", XDG_STATE_HOME: dirname(USER_STATE) },
  });
  expect(ended, ended.err).toMatchObject({ code: 0 });
};

const renamed = (app: TestApp): readonly string[] =>
  readdirSync(app.root).filter((name) => name.includes(".refused-"));

describe("REQ-D22 FAIL-J1 what llmc writes for its operator while a command runs", () => {
  test.each([
    { name: "allow", args: ["allow", "env", "--yes"], file: "llmc.toml" },
    { name: "init", args: ["init"], file: "llmc.toml" },
    {
      name: "connect",
      args: ["connect", "vscode", "--scope", "project", "--yes"],
      file: ".vscode/mcp.json",
    },
  ])("llmc $name stays", async ({ args, file }) => {
    const app = await open();
    const answer = await during(app, "python3 wait.py", () => llmc(app, ...args));
    expect(renamed(app), answer).toEqual([]);
    expect(existsSync(join(app.root, file))).toBe(true);
  });

  test("also when the file was there before", async () => {
    const app = await open();
    await llmc(app, "init");
    await during(app, "python3 wait.py", () => llmc(app, "allow", "env", "--yes"));
    expect(renamed(app)).toEqual([]);
    expect(readFileSync(join(app.root, "llmc.toml"), "utf8")).toContain('"env:run"');
  });

  test("not when the command has written to it, even the same text", async () => {
    const app = await open();
    const answer = await during(app, "python3 wait.py llmc.toml", () => llmc(app, "allow", "env", "--yes"));
    expect(existsSync(join(app.root, "llmc.toml")), answer).toBe(false);
  });

  test("not another file of the same name and text", async () => {
    const app = await open();
    const file = join(app.root, "llmc.toml");
    await during(app, "python3 wait.py", async () => {
      await llmc(app, "init");
      writeFileSync(`${file}.copy`, readFileSync(file));
      renameSync(`${file}.copy`, file);
    });
    expect(existsSync(file)).toBe(false);
  });

  test("what the user's editor made meanwhile is renamed, and answer and log say how it comes back", async () => {
    const app = await open();
    const answer = await during(app, "python3 wait.py", () => {
      writeFileSync(join(app.root, "llmc.toml"), '[mcp]\nmode = "hybrid"\n');
      mkdirSync(join(app.root, ".vscode"));
      writeFileSync(join(app.root, ".vscode/tasks.json"), "{}\n");
    });
    for (const name of ["llmc.toml", ".vscode"]) {
      expect(existsSync(join(app.root, name))).toBe(false);
      expect(answer).toContain(`${name} -> ${name}.refused-`);
      expect(await app.logs()).toContain(`${name} -> ${name}.refused-`);
    }
    expect(answer).toContain("mv brings it back");
    expect(await app.logs()).toContain("mv brings back what is yours");
  });
});
