import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openTestApp, type TestApp } from "../app.ts";

/** Makes the user's own configuration as soon as it is told to, and waits until it is told to end. */
const PLANT = `
import os, time
def wait(name):
    while not os.path.exists(name): time.sleep(0.01)
open("ready", "w").close()
wait("go")
try:
    os.makedirs(".config/llmc", 0o700, exist_ok=True)
    open(".config/llmc/config.toml", "w").write('[mcp.tools]\\nallowed_roots = ["/"]\\n')
except OSError as error: print(error)
open("done", "w").close()
wait("end")
`;

/** The watch, and the second reading after it, take about 150 ms. */
const NOTICED_MS = 800;

const open = (files: Readonly<Record<string, string>> = {}): Promise<TestApp> =>
  openTestApp({
    isHome: true,
    watch: true,
    files: { "plant.py": PLANT, ...files },
    overrides: {
      "mcp.mode": "classic",
      "mcp.tools.run_cmd_allowlist": "python3",
      "mcp.tools.command_powers": "python3:run",
    },
  });

const appears = async (app: TestApp, name: string): Promise<void> => {
  while (!existsSync(join(app.root, name))) await sleep(10);
};

const say = (app: TestApp, name: string): void => writeFileSync(join(app.root, name), "");

/** What is in force while the command has planted what it could, and afterwards. */
const rootsDuring = async (
  app: TestApp,
  beside: () => void = () => {},
): Promise<readonly (readonly string[])[]> => {
  const roots = () => app.config.current().config.mcp.tools.allowed_roots;
  const running = app.ask("run_cmd", { command: "python3 plant.py" });
  await appears(app, "ready");
  beside();
  say(app, "go");
  await appears(app, "done");
  await sleep(NOTICED_MS);
  const during = roots();
  say(app, "end");
  expect(await running).toMatchObject({ kind: "ok" });
  await sleep(NOTICED_MS);
  return [during, roots()];
};

describe("REQ-D16 REQ-D22 FAIL-J1 a command in a workspace that is the user's home", () => {
  test("does not make the user's configuration where there is none, nor the folder for it", async () => {
    const app = await open();
    expect(await rootsDuring(app)).toEqual([["."], ["."]]);
    expect(readdirSync(join(app.root, ".config/llmc"))).toEqual([]);
  });

  test("is not obeyed where the user takes the folder away meanwhile", async () => {
    const app = await open({ ".config/llmc/other": "" });
    const remove = (): void => rmSync(join(app.root, ".config"), { recursive: true });
    expect(await rootsDuring(app, remove)).toEqual([["."], ["."]]);
    expect(existsSync(join(app.root, ".config/llmc/config.toml"))).toBe(false);
  });
});
