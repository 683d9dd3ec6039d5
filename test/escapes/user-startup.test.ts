import { existsSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { isLong } from "../rounds.ts";
import { createWorkspace } from "../workspace.ts";
import { settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const tiers = settings.filter(({ maxLandlockAbi }) => maxLandlockAbi === undefined || isLong);

describe.each(tiers)("FAIL-J1 a start-up file that the user makes during a command in $name", (setting) => {
  test("is renamed, because nobody can tell who made it", async () => {
    await using workspace = await createWorkspace({
      "wait.py": `import time; open("work/ready", "w").close(); time.sleep(1)`,
      "work/x": "",
    });
    await using commands = commandTools(setting, workspace.root, {
      allowlist: ["python3"],
      powers: [],
      denylist: [],
      startup: ["**/.envrc"],
    });
    // The server's own state, which is in the root, is made at the first use.
    await commands.use("run_cmd", "python3 -c pass");
    const running = commands.use("run_cmd", "python3 wait.py");
    while (!existsSync(join(workspace.root, "work/ready"))) await sleep(10);
    for (const path of [".envrc", "work/.envrc"]) writeFileSync(join(workspace.root, path), "mine\n");
    await running;
    expect(existsSync(join(workspace.root, ".envrc"))).toBe(false);
    expect(readdirSync(workspace.root).some((name) => name.startsWith(".envrc.refused-"))).toBe(true);
    expect(existsSync(join(workspace.root, "work/.envrc"))).toBe(false);
  });
});

const options = { allowlist: ["python3"], powers: [], denylist: [], startup: ["**/.envrc"] };

test.each(tiers)(
  "FAIL-J1 a start-up file that a process leaves is told, not renamed, in $name",
  async (setting) => {
    await using workspace = await createWorkspace({ "work/x": "" });
    await using commands = commandTools(setting, workspace.root, options);
    const seen = await commands.use("linux_proc_start", "python3 -c \"open('work/.envrc', 'w').close()\"");
    expect(seen).toContain(
      "[protected: work/.envrc (still there: a start-up file that appeared while the process ran)]",
    );
    expect(seen).not.toContain("mv brings");
    expect(existsSync(join(workspace.root, "work/.envrc"))).toBe(true);
  },
);

test.each(tiers.filter(({ tier }) => tier === "bubblewrap"))(
  "FAIL-J1 a root that is moved away during a command is told, and not called renamed, in $name",
  async (setting) => {
    await using workspace = await createWorkspace({
      "inner/wait.py": "import time; open('ready', 'w').close(); time.sleep(1)",
    });
    const root = join(workspace.root, "inner");
    await using commands = commandTools(setting, root, options);
    const running = commands.use("run_cmd", "python3 wait.py");
    while (!existsSync(join(root, "ready"))) await sleep(10);
    renameSync(root, join(workspace.root, "moved"));
    const seen = await running;
    expect(seen).toContain(". (not checked: this folder was moved while the command ran");
    expect(seen).not.toContain("set_aside");
    expect(seen).not.toContain("renamed, because");
  },
);
