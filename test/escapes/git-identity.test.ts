import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { createWorkspace } from "../workspace.ts";
import { ofThisKernel } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

/** The worker's own home is shared with other tests. */
const { HOME } = process.env;
afterAll(() => {
  process.env["HOME"] = HOME;
});

describe.each(ofThisKernel)("$name: who commits", (setting) => {
  test("REQ-D15: a name that the user sets while the server runs is used by the next commit", async () => {
    await using workspace = await createWorkspace({ "a.txt": "a\n", "b.txt": "b\n" });
    const git = (...args: readonly string[]) =>
      spawnSync("git", args, { cwd: workspace.root, encoding: "utf8" });
    git("init", "-q");
    const home = tempWorkspace();
    process.env["HOME"] = home;
    await using tools = commandTools(setting, workspace.root, {
      allowlist: ["git"],
      powers: ["git:write"],
      denylist: [],
    });
    const commitAs = async (name: string, file: string): Promise<string> => {
      writeFileSync(join(home, ".gitconfig"), `[user]\n\tname = ${name}\n\temail = x@example.com\n`);
      git("add", file);
      await tools.use("run_cmd", `git commit -q -m ${file}`);
      return git("log", "-1", "--format=%an %s").stdout.trim();
    };
    expect(await commitAs("First Name", "a.txt")).toBe("First Name a.txt");
    expect(await commitAs("Second Name", "b.txt")).toBe("Second Name b.txt");
  });

  test("REQ-D15: what the user's git ignores everywhere, and its first branch, are the same here", async () => {
    await using workspace = await createWorkspace({ "a.txt": "a\n", "x.swp": "x\n", "y.tmp": "y\n" });
    const home = tempWorkspace();
    process.env["HOME"] = home;
    const secret = '[url "https://token@example.org/"]\n\tinsteadOf = x:\n[alias]\n\tst = !touch ran\n';
    writeFileSync(join(home, "patterns"), "*.swp\n");
    writeFileSync(join(home, "more"), "[init]\n\tdefaultBranch = trunk\n[core]\n\tautocrlf = input\n");
    writeFileSync(
      join(home, ".gitconfig"),
      `[core]\n\texcludesFile = ~/patterns\n[include]\n\tpath = more\n${secret}`,
    );
    await using tools = commandTools(setting, workspace.root, {
      allowlist: ["git"],
      powers: ["git:write"],
      denylist: [],
    });
    spawnSync("git", ["init", "-q", "-b", "main", "."], { cwd: workspace.root });
    if (setting.tier !== "landlock") {
      await tools.use("run_cmd", "git init -q sub");
      expect(readFileSync(join(workspace.root, "sub/.git/HEAD"), "utf8")).toBe("ref: refs/heads/trunk\n");
    }
    expect(await tools.use("run_cmd", "git status --short")).not.toContain("x.swp");
    await tools.use("run_cmd", "git add a.txt x.swp y.tmp");
    await tools.use("run_cmd", "git add -A");
    const kept = spawnSync("git", ["ls-files"], { cwd: workspace.root, encoding: "utf8" }).stdout;
    expect(kept).toContain("y.tmp");
    expect(kept).not.toContain("x.swp");
    const listed = await tools.use("run_cmd", "git config --list");
    expect(listed).toContain("core.autocrlf=input");
    expect(listed).not.toContain("token@");
    mkdirSync(join(home, ".config/git"), { recursive: true });
    writeFileSync(join(home, ".gitconfig"), "");
    writeFileSync(join(home, ".config/git/ignore"), "*.late\n");
    writeFileSync(join(workspace.root, "z.late"), "z\n");
    expect(await tools.use("run_cmd", "git status --short")).not.toContain("z.late");
  });
});
