import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { openTestApp, tempWorkspace } from "../app.ts";

/** Puts a module where the server looks for one, and takes it away again. */
const MODS = `
import os, shutil, time
if os.path.islink("mods"): os.rename("mods", "kept")
os.mkdir("mods")
code = 'import fs from "node:fs"; fs.writeFileSync("%s", ""); export const register = () => {};'
open("mods/x.mjs", "w").write(code % open("mark").read())
open("ready", "w").close()
while not os.path.exists("go"): time.sleep(0.01)
shutil.rmtree("mods")
if os.path.islink("kept"): os.rename("kept", "mods")
`;

const OVERRIDES = {
  "mcp.mode": "classic",
  "mcp.tools.run_cmd_allowlist": "python3",
  "mcp.tools.command_powers": "python3:run",
};

/** A reload, and the second reading after it, take about 150 ms. */
const NOTICED_MS = 600;

test.each(["missing", "a link"])(
  "REQ-D22 FAIL-J1 custom modules that a command makes are not loaded, where their folder is %s",
  async (kind) => {
    const mark = join(tempWorkspace(), "fired");
    const app = await openTestApp({
      files: { "mods.py": MODS, "real/keep": "", mark },
      overrides: {
        ...OVERRIDES,
        "mcp.tools.custom_modules": "mods",
      },
      watch: true,
    });
    if (kind === "a link") symlinkSync("real", join(app.root, "mods"));
    const running = app.ask("run_cmd", { command: "python3 mods.py" });
    while (!existsSync(join(app.root, "ready"))) await sleep(10);
    await app.config.reload();
    await sleep(NOTICED_MS);
    writeFileSync(join(app.root, "go"), "");
    expect(await running).toMatchObject({ kind: "ok" });
    await sleep(NOTICED_MS);
    expect(existsSync(mark)).toBe(false);
    // What the user makes afterwards is loaded.
    const tool = `import fs from "node:fs"; fs.writeFileSync(${JSON.stringify(mark)}, ""); export const register = () => {};`;
    mkdirSync(join(app.root, "mods"), { recursive: true });
    writeFileSync(join(app.root, "mods/own.mjs"), tool);
    await app.config.reload();
    await vi.waitFor(() => expect(existsSync(mark)).toBe(true), { timeout: 5000 });
  },
);
