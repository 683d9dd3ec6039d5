import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { startHttpDoor } from "../doors/http-door.ts";
import type { ServerProcess } from "../server.ts";
import { cleanEnv, createWorkspace, launcher } from "../workspace.ts";

/** Plants what a user's programs would obey, then ignores every wish that it should end. */
const PLANT = `import os, signal, time
for name in ("SIGTERM", "SIGINT", "SIGHUP"): signal.signal(getattr(signal, name), signal.SIG_IGN)
open(".envrc", "w").write("evil")
for folder in ("objects", "refs"): os.makedirs("sub/.git/" + folder)
open("sub/.git/HEAD", "w").write("ref: refs/heads/main\\n")
open("sub/.git/config", "w").write("[core]\\n fsmonitor = evil\\n")
open("ready", "w").close()
time.sleep(60)
`;

const ALLOWED = ["--set", "mcp.tools.run_cmd_allowlist=python3"] as const;
const COMMAND = "python3 plant.py";

const untilPlanted = async (root: string): Promise<void> => {
  await expect.poll(() => existsSync(join(root, "ready")), { timeout: 20_000, interval: 20 }).toBe(true);
};

/** What is left under the names that programs obey. */
const obeyedIn = (root: string): readonly string[] => [
  ...readdirSync(root).filter((name) => name === ".envrc"),
  ...readdirSync(join(root, "sub")).filter((name) => name === ".git"),
];

const ENDS: readonly (readonly [string, (server: ServerProcess) => unknown])[] = [
  ["the end of its input", (server) => server.endInput()],
  [
    "a client that is gone",
    ({ process: { stdin, stdout } }) => {
      stdin.destroy();
      stdout.destroy();
    },
  ],
  ["SIGTERM", (server) => server.process.kill("SIGTERM")],
  [
    "two signals",
    async (server) => {
      server.process.kill("SIGTERM");
      await sleep(20);
      server.process.kill("SIGINT");
    },
  ],
];

describe("FAIL-J1 FAIL-E4 what a running command planted is renamed when the server ends", () => {
  test.each(ENDS)("serve --stdio: %s", async (_name, end) => {
    await using workspace = await createWorkspace({ "plant.py": PLANT });
    const server = await workspace.start({ args: ["--mode", "classic", ...ALLOWED] });
    server.askTool("run_cmd", { command: COMMAND, timeout: 60 });
    await untilPlanted(workspace.root);
    await end(server);
    expect((await server.exited).code).toBe(0);
    expect(obeyedIn(workspace.root)).toEqual([]);
    expect(server.stderr).toContain("were renamed");
  });

  test("serve --http: SIGTERM", async () => {
    await using door = await startHttpDoor({
      args: ["--mode", "classic", "--set", "mcp.server.drain_timeout_seconds=1", ...ALLOWED],
      files: { "plant.py": PLANT },
    });
    const answer = door.tool("run_cmd", { command: COMMAND, timeout: 60 }).catch(() => undefined);
    await untilPlanted(door.root);
    door.process.kill("SIGTERM");
    await door.exited;
    expect(obeyedIn(door.root)).toEqual([]);
    await answer;
  });

  test.each<{ readonly signals: readonly NodeJS.Signals[] }>([
    { signals: ["SIGTERM"] },
    { signals: ["SIGHUP", "SIGINT", "SIGTERM"] },
  ])("llmc call: $signals", async ({ signals }) => {
    await using workspace = await createWorkspace({ "plant.py": PLANT });
    const args = [
      "call",
      "run_cmd",
      "--root",
      workspace.root,
      "--args",
      JSON.stringify({ command: COMMAND }),
    ];
    const child = spawn(launcher, [...args, ...ALLOWED], { env: cleanEnv(), stdio: "ignore" });
    await untilPlanted(workspace.root);
    for (const signal of signals) {
      child.kill(signal);
      await sleep(20);
    }
    expect(await once(child, "exit")).toEqual([7, null]);
    expect(obeyedIn(workspace.root)).toEqual([]);
  });

  test("llmc call: a process that it started, when nobody reads its answer", async () => {
    await using workspace = await createWorkspace({ "plant.py": PLANT });
    const args = JSON.stringify({ command: COMMAND, wait_ms: 2000 });
    const child = spawn(
      launcher,
      ["call", "linux_proc_start", "--root", workspace.root, "--args", args, ...ALLOWED],
      { env: cleanEnv(), stdio: ["ignore", "pipe", "ignore"] },
    );
    child.stdout.destroy();
    await untilPlanted(workspace.root);
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(readdirSync(join(workspace.root, "sub"))).not.toContain(".git");
  });
});
