import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { hostSections } from "../../src/host/options.ts";
import { createWorkspace } from "../workspace.ts";
import { casesIn, ofThisKernel, type Setting } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const startup = hostSections[0].options.startup_globs.default;

const tools = (setting: Setting, root: string) =>
  commandTools(setting, root, { allowlist: ["python3"], powers: [], denylist: [], startup });

const link = (root: string, path: string, target: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  symlinkSync(target, join(root, path));
};

const isThere = (root: string, path: string): boolean =>
  lstatSync(join(root, path), { throwIfNoEntry: false }) !== undefined;

describe.each(ofThisKernel)("FAIL-J1 a new link that leads to start-up files in $name", (setting) => {
  test.each(
    casesIn(setting, [
      [".cargo", "config.toml"],
      [".github", "workflows/ci.yml"],
      [".config", "fish/config.fish"],
      [".config", "git/config"],
      [".vscode", "tasks.json"],
      [".hg", "hgrc"],
      [".jj", "repo/config.toml"],
      [".mvn", "extensions.xml"],
    ] as const),
  )("%s is renamed", async (name, inner) => {
    await using workspace = await createWorkspace({
      "sub/x": "",
      "plant.py": `
import os
os.makedirs(os.path.dirname("sub/evil/${inner}"))
open("sub/evil/${inner}", "w").close()
os.symlink("evil", "sub/${name}")
os.symlink("evil", "sub/harmless")
`,
    });
    await using commands = tools(setting, workspace.root);
    await commands.use("run_cmd", "python3 plant.py");
    expect(isThere(workspace.root, "sub/harmless")).toBe(true);
    expect(isThere(workspace.root, `sub/${name}`)).toBe(false);
    expect(readdirSync(join(workspace.root, "sub")).some((one) => one.startsWith(`${name}.refused-`))).toBe(
      true,
    );
  });

  test("one that was moved is renamed, one that stayed is not", async () => {
    await using workspace = await createWorkspace({
      "sub/x": "",
      "examples/x": "",
      "examples/envrc": "",
      "other/envrc": "",
      "move.py": `
import os
try: os.rename("examples/.envrc", "sub/.envrc")
except OSError: pass
`,
    });
    link(workspace.root, "examples/.envrc", "envrc");
    link(workspace.root, "other/.envrc", "envrc");
    await using commands = tools(setting, workspace.root);
    await commands.use("run_cmd", "python3 move.py");
    expect(isThere(workspace.root, "sub/.envrc")).toBe(false);
    expect(isThere(workspace.root, "other/.envrc")).toBe(true);
  });
});

describe.each(ofThisKernel.filter(({ tier }) => tier !== "plain"))(
  "FAIL-J3 what a start-up link leads to stays in $name",
  (setting) => {
    test.each([
      ["a file", ".envrc", "conf/envrc", "conf/envrc"],
      ["a folder", ".vscode", "conf/vsc", "conf/vsc/tasks.json"],
      ["a link in a start-up folder", ".vscode/tasks.json", "../conf/tasks.json", "conf/tasks.json"],
      ["a folder above start-up files", ".cargo", "conf/cargo", "conf/cargo/config.toml"],
    ])("%s", async (_, name, target, file) => {
      await using workspace = await createWorkspace({
        [file]: "before\n",
        "attack.py": `
import os
def attempt(work):
    try: work()
    except OSError: pass
attempt(lambda: open("${file}", "a").write("after"))
attempt(lambda: open("${name}", "a").write("after"))
attempt(lambda: os.unlink("${file}"))
attempt(lambda: os.rename("conf", "moved"))
attempt(lambda: open("${dirname(file)}/new", "w").close())
`,
      });
      link(workspace.root, name, target);
      await using commands = tools(setting, workspace.root);
      await commands.use("run_cmd", "python3 attack.py");
      expect(readFileSync(join(workspace.root, file), "utf8")).toBe("before\n");
      expect(isThere(workspace.root, name)).toBe(true);
      if (dirname(file) !== "conf")
        expect(existsSync(join(workspace.root, dirname(file), "new"))).toBe(false);
    });

    test("one that leads over another link, or to nothing yet, brings nothing new", async () => {
      await using workspace = await createWorkspace({
        "real/envrc": "before\n",
        "conf/x": "",
        "later/x": "",
        "a/x": "",
        "attack.py": `
import os
def attempt(work):
    try: work()
    except OSError: pass
attempt(lambda: os.unlink("conf/envrc"))
attempt(lambda: open("conf/envrc", "w").write("after"))
attempt(lambda: open("later/envrc", "w").write("after"))
`,
      });
      link(workspace.root, "conf/envrc", "../real/envrc");
      link(workspace.root, ".envrc", "conf/envrc");
      link(workspace.root, "a/.envrc", "../later/envrc");
      await using commands = tools(setting, workspace.root);
      await commands.use("run_cmd", "python3 attack.py");
      const seen = [".envrc", "a/.envrc"].map((path) =>
        existsSync(join(workspace.root, path))
          ? readFileSync(join(workspace.root, path), "utf8")
          : "before\n",
      );
      expect(seen).toEqual(["before\n", "before\n"]);
    });
  },
);
