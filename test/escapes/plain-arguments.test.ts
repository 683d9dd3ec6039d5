import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorkspace } from "../workspace.ts";
import { GIT, settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const SECRET = "planted-secret-4d1e";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, encoding: "utf8" });

const plain = settings.filter(({ tier }) => tier === "plain");

const tools = (setting: (typeof settings)[number], root: string) =>
  commandTools(setting, root, {
    allowlist: ["git", "grep", "diff", "rg", "wc"],
    powers: ["git:write"],
    denylist: ["**/.env"],
  });

const repository = async () => {
  const workspace = await createWorkspace({ "f.txt": "one\n", "sub/g.txt": "one\n" });
  git(workspace.root, "init", "-q", "-b", "main", ".");
  git(workspace.root, "add", ".");
  git(workspace.root, "commit", "-qm", "one");
  return workspace;
};

describe.each(plain)("FAIL-J12 REQ-X10 values of options in $name", (setting) => {
  test.each([
    "diff --from-file=OUT f.txt",
    "git blame --contents=OUT f.txt",
    "git blame --ignore-revs-file=OUT f.txt",
    "git -C .. blame --contents=../NAME f.txt",
    "grep -fOUT f.txt",
    "grep -nfOUT f.txt",
    "grep -vf../../NAME f.txt",
    "grep -vfx/../../../NAME f.txt",
    "wc --files0-from=OUT",
  ])("%s leads outside and is refused", async (line) => {
    await using workspace = await repository();
    await using outside = await createWorkspace({ secret: SECRET });
    await using commands = tools(setting, workspace.root);
    const path = join(outside.root, "secret");
    const name = path.slice(path.lastIndexOf("/", path.lastIndexOf("/") - 1) + 1);
    const asked = line.replace("OUT", path).replace("NAME", name);
    const answer = commands.use("run_cmd", asked, "sub");
    await expect(answer).rejects.toMatchObject({ code: "path_denied" });
  });

  test.each([
    "git log --format=%h/%s",
    "grep -rn --include=*.txt one .",
    "grep -c -f../f.txt g.txt",
    "git -C .. log -1 --format=https://x/%h",
  ])("%s stays inside and runs", async (line) => {
    await using workspace = await repository();
    await using commands = tools(setting, workspace.root);
    expect(await commands.use("run_cmd", line, "sub")).toContain('"exit_code":0');
  });
});
