import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { casesIn, GIT, ofThisKernel, type Setting } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";
import { templateOf } from "./template.ts";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, encoding: "utf8" });

const PATCH = `--- /dev/null
+++ b/.github/workflows/x.yml
@@ -0,0 +1 @@
+evil
`;

const repository = templateOf((root) => {
  for (const folder of [".vscode", "gh/workflows"]) mkdirSync(join(root, folder), { recursive: true });
  const files = { "evil.txt": "evil\n", "empty.txt": "", ".envrc": "# ok\n", ".vscode/tasks.json": "{}\n" };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(root, name), content);
  writeFileSync(join(root, "gh/workflows/ci.yml"), "evil\n");
  writeFileSync(join(root, "a.patch"), PATCH);
  git(root, "init", "-q", "-b", "main", ".");
  git(root, "add", ".");
  git(root, "commit", "-qm", "one");
  git(root, "checkout", "-qb", "side");
  mkdirSync(join(root, ".github/workflows"), { recursive: true });
  for (const name of [".github/workflows/ci.yml", ".envrc"]) writeFileSync(join(root, name), "side\n");
  git(root, "add", ".");
  git(root, "commit", "-qm", "two");
  git(root, "checkout", "-q", "main");
});

const tools = (setting: Setting, root: string) =>
  commandTools(setting, root, {
    allowlist: ["git"],
    powers: ["git:write"],
    denylist: [],
    startup: [".envrc", ".vscode/", "**/.github/workflows/**"],
  });

const startupIn = (root: string): readonly string[] => [
  readFileSync(join(root, ".envrc"), "utf8"),
  ...readdirSync(join(root, ".vscode")),
  readFileSync(join(root, ".vscode/tasks.json"), "utf8"),
  String(existsSync(join(root, ".github/workflows"))),
];

describe.each(ofThisKernel)("REQ-D24 FAIL-J4 paths that git is told to write, in $name", (setting) => {
  test.each(
    casesIn(setting, [
      "git merge-file .envrc .envrc evil.txt",
      "git merge-file .vscode/tasks.json empty.txt evil.txt",
      "git bundle create .envrc HEAD",
      "git format-patch -1 -o .vscode",
      "git format-patch -1 --output-directory=.vscode",
      "git -C gh format-patch -1 -o../.vscode",
      "git apply --build-fake-ancestor=.envrc a.patch",
      "git apply a.patch",
      "git mv -f evil.txt .envrc",
      "git mv gh .github",
      "git worktree add .vscode/x side",
      "git read-tree --index-output=.envrc HEAD",
      "git pack-objects .vscode/x",
      "git init .vscode/x",
    ]),
  )("%s changes no start-up file", async (line) => {
    await using workspace = await repository();
    const before = startupIn(workspace.root);
    await using commands = tools(setting, workspace.root);
    await commands.use("run_cmd", line).catch((thrown: unknown) => {
      expect(thrown).toMatchObject({ code: expect.stringMatching(/^(forbidden|path_denied|unavailable)$/) });
    });
    expect(startupIn(workspace.root)).toEqual(before);
  });

  test("what commits hold is checked out, start-up files among it, where the folder is not closed", async () => {
    await using workspace = await repository();
    await using commands = tools(setting, workspace.root);
    const before = startupIn(workspace.root);
    const seen = await commands.use("run_cmd", "git checkout side");
    if (setting.tier === "landlock") {
      // It cannot hold single names in the folder that holds the state folder, and so closes that one.
      expect(seen).toContain('"exit_code":128');
      expect(git(workspace.root, "status", "-s", "-b")).toBe("## main\n");
      expect(startupIn(workspace.root)).toEqual(before);
    } else {
      expect(readFileSync(join(workspace.root, ".envrc"), "utf8")).toBe("side\n");
      expect(readFileSync(join(workspace.root, ".github/workflows/ci.yml"), "utf8")).toBe("side\n");
      await commands.use("run_cmd", "git rm -q evil.txt .envrc");
      expect(existsSync(join(workspace.root, ".envrc"))).toBe(false);
    }
  });
});
