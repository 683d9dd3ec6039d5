import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorkspace } from "../workspace.ts";
import { ofThisKernel } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const options = { allowlist: ["python3"], powers: [], denylist: [], startup: [] };

const PLANT = `
import os
os.chdir("work")
os.makedirs("evil/store")
for folder in (".hg", "sub/.sl", "sub/_darcs"): os.makedirs(folder)
for name in (".hg/requires", ".hg/sharedpath", "sub/.sl/config", "sub/_darcs/defaults"):
    open(name, "w").write("../evil")
os.makedirs("sub/.jj", exist_ok=True)
open("sub/.jj/repo", "w").write("../../evil")
os.makedirs("other")
open("other/.hg", "w").write("evil")
os.symlink("../evil", "other/.jj")
`;

describe.each(ofThisKernel)(
  "FAIL-J1 FAIL-J3 repositories of other version control systems in $name",
  (setting) => {
    test("what a command makes is renamed as a whole, whatever it consists of", async () => {
      await using workspace = await createWorkspace({ "work/x": "", "plant.py": PLANT });
      await using commands = commandTools(setting, workspace.root, options);
      await commands.use("run_cmd", "python3 plant.py");
      for (const path of ["./.hg", "sub/.jj", "sub/.sl", "sub/_darcs", "other/.hg", "other/.jj"]) {
        expect(existsSync(join(workspace.root, path)), path).toBe(false);
        const [folder = "", name] = path.split("/");
        const names = readdirSync(join(workspace.root, "work", folder));
        expect(
          names.some((one) => one.startsWith(`${name}.refused-`)),
          path,
        ).toBe(true);
      }
      expect(existsSync(join(workspace.root, "work/evil/store"))).toBe(true);
    });

    test("one that is there is read, and not changed", async () => {
      await using workspace = await createWorkspace({
        ".hg/requires": "store\n",
        ".jj/repo/store/type": "git",
        "change.py": `
for name in (".hg/requires", ".hg/sharedpath", ".jj/repo/config.toml"):
    try: open(name, "w").write("evil")
    except OSError: pass
print(open(".hg/requires").read())
`,
      });
      await using commands = commandTools(setting, workspace.root, options);
      const output = await commands.use("run_cmd", "python3 change.py");
      // Without a sandbox nothing holds what is there (SECURITY.md).
      const isHeld = setting.tier !== "plain";
      expect(output).toContain(isHeld ? "store" : "evil");
      expect(readFileSync(join(workspace.root, ".hg/requires"), "utf8")).toBe(isHeld ? "store\n" : "evil");
      for (const path of [".hg/sharedpath", ".jj/repo/config.toml"])
        expect(existsSync(join(workspace.root, path)), path).toBe(!isHeld);
    });
  },
);
