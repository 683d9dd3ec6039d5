import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createWorkspace } from "../workspace.ts";
import { settings } from "./command-stand.ts";
import { type CommandTools, commandTools } from "./command-tools.ts";

const tiers = settings.filter(({ tier, maxLandlockAbi }) => tier !== "plain" && maxLandlockAbi === undefined);

const REQUEST = { offsetLines: 0, maxLines: 10, maxBytes: 1000 };
const SECRET = "TOP SECRET";

const WAIT = `
import os, time
open("work/ready", "w").close()
while not os.path.exists("work/go"): time.sleep(0.01)
`;

/** Prints every file that it can read, whatever it is called. */
const PRINT = `
import os
for folder, _, names in os.walk("."):
    for name in names:
        try: print(open(os.path.join(folder, name)).read())
        except (OSError, UnicodeDecodeError): pass
`;

const PLANT = `
import os
inner = "work/.llmc.refused-12345678/inner/.git"
os.makedirs(inner + "/objects"); os.makedirs(inner + "/refs")
open(inner + "/HEAD", "w").write("ref: refs/heads/main\\n")
open(inner + "/config", "w").write("[core]\\n\\tfsmonitor = touch fired\\n")
`;

const options = {
  allowlist: ["python3"],
  powers: [],
  denylist: ["**/.envrc", "**/.claude/**"],
  startup: ["**/.envrc", "**/.claude", "**/.claude/**"],
};

const refusedIn = (folder: string): readonly string[] =>
  readdirSync(folder).filter((name) => /\.refused-[0-9a-f]{8}$/.test(name));

describe.each(tiers)(
  "FAIL-A10 FAIL-J1 what a name closed is closed under the name after it in $name",
  (setting) => {
    const renameDuring = async (
      root: string,
      commands: CommandTools,
      paths: readonly string[],
    ): Promise<void> => {
      await commands.use("run_cmd", "python3 -c pass");
      const running = commands.use("run_cmd", "python3 wait.py");
      while (!existsSync(join(root, "work/ready"))) await sleep(10);
      for (const path of paths) {
        mkdirSync(dirname(join(root, path)), { recursive: true });
        writeFileSync(join(root, path), SECRET);
      }
      writeFileSync(join(root, "work/go"), "");
      await running;
    };

    test.each([
      ["a secret that is a start-up file", "work/.envrc", ""],
      ["a folder of secrets", "work/.claude/settings.local.json", "/settings.local.json"],
      ["the state of another server", "work/.llmc/name/state.db", "/name/state.db"],
    ])("%s", async (_what, path, below) => {
      await using workspace = await createWorkspace({ "wait.py": WAIT, "print.py": PRINT, "work/x": "seen" });
      await using commands = commandTools(setting, workspace.root, options);
      await renameDuring(workspace.root, commands, [path]);
      const [name, ...more] = refusedIn(join(workspace.root, "work"));
      expect(more).toEqual([]);
      const renamed = `work/${name}${below}`;
      expect(existsSync(join(workspace.root, renamed))).toBe(true);
      await expect(commands.files.readText(renamed, REQUEST)).rejects.toMatchObject({ code: "path_denied" });
      const printed = await commands.use("run_cmd", "python3 print.py");
      expect(printed).toContain("seen");
      expect(printed).not.toContain(SECRET);
      expect(refusedIn(join(workspace.root, "work"))).toEqual([name]);
    });

    test("nothing that is obeyed hides below such a name", async () => {
      await using workspace = await createWorkspace({ "plant.py": PLANT, "work/x": "" });
      await using commands = commandTools(setting, workspace.root, options);
      await commands.use("run_cmd", "python3 plant.py");
      const inner = join(workspace.root, "work/.llmc.refused-12345678/inner");
      expect(existsSync(join(inner, ".git"))).toBe(false);
      expect(refusedIn(inner)).toHaveLength(1);
    });
  },
);
