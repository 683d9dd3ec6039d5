import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorkspace } from "../workspace.ts";
import { GIT, ofThisKernel, type Setting, sandboxes } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";
import { templateOf } from "./template.ts";

const SECRET = "planted-secret-91c7";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, encoding: "utf8" });

const template = templateOf((root) => {
  for (const folder of ["deep/dir", "sub", "top", ".github/workflows/d", ".llmc"])
    mkdirSync(join(root, folder), { recursive: true });
  const files = {
    "a.txt": "one\n",
    "base.txt": "ref: refs/heads/main\n",
    "evil.txt": "ref: refs/heads/evil\n",
    "deep/.env": SECRET,
    ".llmc/state": SECRET,
    ".github/workflows/ci.yml": "ref: refs/heads/main\n",
  };
  git(root, "init", "-q", "-b", "main", ".");
  for (const [name, content] of Object.entries(files)) writeFileSync(join(root, name), content);
  git(root, "add", "a.txt", "base.txt");
  git(root, "commit", "-qm", "one");
});

const LINKS = {
  l: "deep/dir",
  "sub/l2": "../top",
  w: ".github/workflows/d",
  climbs: "l/../.env",
  alias: "deep/.env",
};

/** By its text, `l/..` is the top; for the kernel, it is `deep`. */
const repository = async () => {
  const workspace = await template();
  for (const [name, target] of Object.entries(LINKS)) symlinkSync(target, join(workspace.root, name));
  return workspace;
};

const tools = (setting: Setting, root: string) =>
  commandTools(setting, root, {
    allowlist: ["git", "cat", "grep", "wc", "ls", "diff"],
    powers: ["git:write"],
    denylist: ["**/.env", "**/id_rsa"],
    startup: ["**/.github/workflows/**"],
  });

const refused = { code: expect.stringMatching(/path_denied|forbidden/) };

describe.each(ofThisKernel)("FAIL-J12 links and .. in arguments, in $name", (setting) => {
  test.each([
    "cat l/../.env",
    "cat ./l/.././.env",
    "cat climbs",
    "cat missing/../alias",
    "grep -f l/../.env a.txt",
    "grep -fl/../.env a.txt",
    "diff a.txt --to-file=l/../.env",
    "git diff --no-index a.txt l/../.env",
    "git -C l diff --no-index ../../a.txt ../.env",
    "git -C l/.. diff --no-index ../a.txt .env",
    "git -C l -C .. diff --no-index ../a.txt .env",
    "git diff --no-index a.txt l/../alias",
  ])("%s reaches a secret and is refused", async (line) => {
    await using workspace = await repository();
    await using commands = tools(setting, workspace.root);
    await expect(commands.use("run_cmd", line)).rejects.toMatchObject(refused);
  });

  test("FAIL-J4 REQ-D24 git writes neither to a git directory nor to a start-up file", async () => {
    await using workspace = await repository();
    await using commands = tools(setting, workspace.root);
    for (const line of [
      "git merge-file sub/l2/../.git/HEAD base.txt evil.txt",
      "git -C sub merge-file l2/../.git/HEAD ../base.txt ../evil.txt",
      "git bundle create sub/l2/../.git/refs/heads/x HEAD",
      "git format-patch -1 --root -o sub/l2/../.git/logs",
      "git merge-file w/../ci.yml base.txt evil.txt",
      "git bundle create w/../new.yml HEAD",
    ])
      await expect(commands.use("run_cmd", line), line).rejects.toMatchObject(refused);
    expect(readFileSync(join(workspace.root, ".git/HEAD"), "utf8")).toBe("ref: refs/heads/main\n");
    expect(readdirSync(join(workspace.root, ".git/logs")).join()).not.toContain("patch");
    expect(readdirSync(join(workspace.root, ".github/workflows")).sort()).toEqual(["ci.yml", "d"]);
  });

  test.each(["git -C l/.. log -1 --format=%h", "git -C sub/l2/.. status --short", "ls l/.."])(
    "%s reaches nothing that is closed, and runs",
    async (line) => {
      await using workspace = await repository();
      await using commands = tools(setting, workspace.root);
      expect(await commands.use("run_cmd", line)).toContain('"exit_code":0');
    },
  );

  test("REQ-X10 the server's own state is not reached behind a link, and refused where no sandbox hides it", async () => {
    await using workspace = await repository();
    await using commands = tools(setting, workspace.root);
    for (const line of ["cat sub/l2/../.llmc/state", "ls sub/l2/../.llmc"]) {
      const result = commands.use("run_cmd", line);
      if (setting.tier === "plain") await expect(result, line).rejects.toMatchObject(refused);
      else expect(await result.catch(String), line).not.toMatch(new RegExp(`${SECRET}|state$`, "m"));
    }
  });
});

describe.each(sandboxes)("FAIL-J12 what exists outside the roots, in $name", (setting) => {
  test("the answer about a secret outside does not depend on whether it is there", async () => {
    await using workspace = await createWorkspace({ "a.txt": "one\n" });
    await using outside = await createWorkspace({ "here/id_rsa": SECRET, "here/.env": SECRET });
    symlinkSync(outside.root, join(workspace.root, "out"));
    for (const name of ["here", "gone"])
      symlinkSync(join(outside.root, name, ".env"), join(workspace.root, name));
    await using commands = tools(setting, workspace.root);
    const ask = async (line: string): Promise<unknown> =>
      commands.use("run_cmd", line).catch((thrown: Error) => thrown.message);
    const report = (answer: unknown): string =>
      String(answer).replaceAll(/here|gone|_\w+|\d+|Permission denied|No such file or directory/g, "…");
    const up = `../${basename(outside.root)}`;
    for (const path of [`${outside.root}/NAME/id_rsa`, `${up}/NAME/.env`, "out/NAME/id_rsa", "NAME"])
      for (const command of ["cat ", "grep x --file="]) {
        const [there, missing] = ["here", "gone"].map((name) =>
          ask(`${command}${path.replace("NAME", name)}`),
        );
        expect(report(await there), path).toBe(report(await missing));
      }
  });
});
