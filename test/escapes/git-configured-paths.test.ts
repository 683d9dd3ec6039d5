import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { casesIn, GIT, ofThisKernel, type Setting } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";
import { templateOf } from "./template.ts";

const SECRET = "TOKEN=very-secret";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, encoding: "utf8" });

const repository = templateOf((root) => {
  mkdirSync(join(root, "sub"));
  writeFileSync(join(root, "file.txt"), "one\n");
  writeFileSync(join(root, "sub/.env"), `${SECRET}\n`);
  git(root, "init", "-q", "-b", "main", ".");
  git(root, "add", "file.txt");
  git(root, "commit", "-qm", "one");
});

const tools = (setting: Setting, root: string) =>
  commandTools(setting, root, { allowlist: ["git"], powers: ["git:write"], denylist: ["**/.env"] });

describe.each(ofThisKernel)("FAIL-J3 FAIL-J4 files that a git configuration names in $name", (setting) => {
  const isPlain = setting.tier === "plain";

  test.each(
    casesIn(setting, [
      ["blame.ignoreRevsFile", "sub/.env", "git blame file.txt"],
      ["blame.ignoreRevsFile", "link", "git blame file.txt"],
      ["blame.ignoreRevsFile", "OUTSIDE", "git blame file.txt"],
      ["blame.ignoreRevsFile", "~root/.profile", "git blame file.txt"],
      ["fsck.skipList", "sub/.env", "git fsck"],
      ["mailmap.file", "sub/.env", "git log"],
      ["core.excludesFile", "sub/.env", "git status"],
      ["core.attributesFile", "../sub/.env", "git status"],
      ["commit.template", "../sub/.env", "git log"],
      ["format.signatureFile", ":(optional)sub/.env", "git log"],
      ["some.laterKey", "OUTSIDE", "git log"],
    ] as const),
  )("%s = %s shows nothing", async (key, value, line) => {
    await using workspace = await repository();
    const outside = mkdtempSync(join(tmpdir(), "llmc-outside-"));
    try {
      writeFileSync(join(outside, "list"), `${SECRET}\n`);
      symlinkSync("sub/.env", join(workspace.root, "link"));
      git(workspace.root, "config", key, value.replace("OUTSIDE", join(outside, "list")));
      await using commands = tools(setting, workspace.root);
      const seen = await commands.use("run_cmd", line).catch((thrown: Error) => thrown);
      if (isPlain) expect(seen).toMatchObject({ code: "forbidden" });
      expect(seen instanceof Error ? seen.message : seen).not.toContain("very-secret");
    } finally {
      rmSync(outside, { recursive: true });
    }
  });

  test.each(casesIn(setting, ["sub/.env", "\\\n  sub/.env", '"" sub/.env', "sub\t.env", "sub\r.env"]))(
    "a value that is written as %j shows nothing",
    async (written) => {
      await using workspace = await repository();
      for (const name of ["sub .env", "sub\t.env"]) symlinkSync("sub/.env", join(workspace.root, name));
      appendFileSync(join(workspace.root, ".git/config"), `[blame]\n\tignoreRevsFile = ${written}\n`);
      await using commands = tools(setting, workspace.root);
      const seen = await commands.use("run_cmd", "git blame file.txt").catch((thrown: Error) => thrown);
      if (isPlain) expect(seen).toMatchObject({ code: "forbidden" });
      expect(seen instanceof Error ? seen.message : seen).not.toContain("very-secret");
    },
  );

  test.each(
    casesIn(
      setting,
      [
        "packed-refs",
        "shallow",
        "info/grafts",
        "info/exclude",
        "refs/heads/evil",
        "objects/info/alternates",
      ].flatMap(
        (name) =>
          [
            [name, symlinkSync],
            [name, linkSync],
          ] as const,
      ),
    ),
  )("a withheld file as .git/%s shows nothing", async (name, link) => {
    await using workspace = await repository();
    rmSync(join(workspace.root, ".git", name), { force: true });
    mkdirSync(dirname(join(workspace.root, ".git", name)), { recursive: true });
    link(join(workspace.root, "sub/.env"), join(workspace.root, ".git", name));
    await using commands = tools(setting, workspace.root);
    for (const line of ["git log --all", "git status", "git branch -a"]) {
      const seen = await commands.use("run_cmd", line).catch((thrown: Error) => thrown);
      expect(seen).toMatchObject({ code: "forbidden" });
      expect(seen instanceof Error ? seen.message : seen).not.toContain("very-secret");
    }
  });

  test("what names no file, or one in the roots, is obeyed", async () => {
    await using workspace = await repository();
    const commit = git(workspace.root, "rev-parse", "HEAD");
    writeFileSync(join(workspace.root, "revisions"), commit);
    appendFileSync(
      join(workspace.root, ".git/config"),
      `[blame]\n\tignoreRevsFile = revisions\n[core]\n\teditor = /bin/true\n\texcludesFile = ~/.gitignore\n[gpg]\n\tprogram = /bin/true\n[remote "up"]\n\turl = /srv\n`,
    );
    await using commands = tools(setting, workspace.root);
    for (const line of ["git blame file.txt", "git status"])
      expect(await commands.use("run_cmd", line)).toContain('"exit_code":0');
  });
});
