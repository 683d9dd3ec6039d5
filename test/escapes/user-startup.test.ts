import { existsSync, readdirSync, writeFileSync } from "node:fs";
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
