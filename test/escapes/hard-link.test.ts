import { execFileSync } from "node:child_process";
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { openTestApp } from "../app.ts";
import { createWorkspace } from "../workspace.ts";
import { settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

test("FAIL-A4: a secret is refused by its names; a hard link with another name is outside that promise, as SECURITY says", async () => {
  const app = await openTestApp({ files: { ".env": "KEY=value\n" }, overrides: { "mcp.mode": "classic" } });
  linkSync(join(app.root, ".env"), join(app.root, "copy.env"));
  linkSync(join(app.root, ".env"), join(app.root, "notes.txt"));
  expect(await app.errorCode("read_file", { path: ".env" })).toBe("path_denied");
  expect(await app.errorCode("read_file", { path: "copy.env" })).toBe("path_denied");
  expect(await app.text("read_file", { path: "notes.txt" })).toBe("KEY=value\n");
  // No tool makes hard links, so a client cannot give a secret another name.
  expect(await app.errorCode("linux_fs_move", { source: ".env", target: "plain.txt" })).toBe("INVALID_PATH");
  expect(readFileSync(resolve(import.meta.dirname, "../../SECURITY.md"), "utf8")).toContain("hard link");
});

test.each(settings)("FAIL-J5 commands do not show a secret under a second name in $name", async (setting) => {
  await using workspace = await createWorkspace({ ".env": "the secret\n", "x/other.txt": "no secret\n" });
  linkSync(join(workspace.root, ".env"), join(workspace.root, "x/notes.txt"));
  await using commands = commandTools(setting, workspace.root, {
    allowlist: ["grep", "rg", "cat"],
    powers: [],
    denylist: ["**/.env"],
  });
  const lines = ["grep -r secret .", "rg --hidden --no-ignore secret", "cat x/notes.txt"];
  const see = async (): Promise<void> => {
    for (const line of lines) {
      const seen = await commands.use("run_cmd", line).catch(() => "");
      expect(seen, line).not.toContain("the secret");
    }
  };
  await see();
  linkSync(join(workspace.root, ".env"), join(workspace.root, "x/later.txt"));
  await see();
  expect(await commands.use("run_cmd", "grep -r secret .")).toContain("no secret");
});

test.each(settings)(
  "FAIL-A4 FAIL-J12 nor does the first command, when nothing was scanned before, in $name",
  async (setting) => {
    for (const line of [
      "cat x/notes.txt",
      "ls | cat x/notes.txt",
      "cat x/*",
      "git -C x diff --no-index a.txt notes.txt",
    ]) {
      await using workspace = await createWorkspace({ ".env": "the secret\n", "x/a.txt": "" });
      linkSync(join(workspace.root, ".env"), join(workspace.root, "x/notes.txt"));
      await using commands = commandTools(setting, workspace.root, {
        allowlist: ["cat", "ls", "git"],
        powers: [],
        denylist: ["**/.env"],
      });
      expect(await commands.use("run_cmd", line).catch(String), line).not.toContain("the secret");
    }
  },
);

test.each(settings)(
  "FAIL-A4 FAIL-J5 nor a second name that is not UTF-8, or lies in a folder of such a name, in $name",
  async (setting) => {
    await using workspace = await createWorkspace({
      ".env": "the secret\n",
      "x/a.txt": "",
      "b.txt": "other\n",
    });
    const odd = Buffer.concat([Buffer.from(join(workspace.root, "x/")), Buffer.from([0xff])]);
    mkdirSync(odd);
    for (const name of [".txt", "/notes.txt"])
      linkSync(join(workspace.root, ".env"), Buffer.concat([odd, Buffer.from(name)]));
    await using commands = commandTools(setting, workspace.root, {
      allowlist: ["grep", "rg", "cat"],
      powers: [],
      denylist: ["**/.env"],
    });
    for (const line of ["grep -r secret .", "rg --hidden --no-ignore secret", "cat x/*.txt"])
      expect(await commands.use("run_cmd", line).catch(String), line).not.toContain("the secret");
    expect(await commands.use("run_cmd", "cat b.txt")).toContain("other");
  },
);

const sandboxed = settings.filter(({ tier }) => tier !== "plain");

test.each(sandboxed)(
  "FAIL-J1 FAIL-J3 what is obeyed is not written through a second name in $name",
  async (setting) => {
    await using workspace = await createWorkspace({ ".envrc": "one\n", "llmc.toml": "", "share/x": "" });
    const at = (path: string): string => join(workspace.root, path);
    execFileSync("git", ["init", "-q", workspace.root]);
    const linked = [".envrc", "llmc.toml", ".git/config", ".git/HEAD"];
    for (const [index, path] of linked.entries()) linkSync(at(path), at(`share/${index}`));
    const before = linked.map((path) => readFileSync(at(path), "utf8"));
    await using commands = commandTools(setting, workspace.root, {
      allowlist: ["python3"],
      powers: [],
      denylist: [],
      startup: ["**/.envrc"],
    });
    const program = "[open('share/%d' % n, 'a').write('evil') for n in (NAMES)]";
    for (const index of linked.keys())
      await commands.use("run_cmd", `python3 -c "${program.replace("NAMES", `${index},`)}"`).catch(() => "");
    expect(linked.map((path) => readFileSync(at(path), "utf8"))).toEqual(before);
  },
);

const MAKE = `
import os
for folder, _, names in os.walk("template/.git"):
    copy = folder.replace("template", "sub", 1)
    os.mkdir(copy)
    for name in names: open(copy + "/" + name, "wb").write(open(folder + "/" + name, "rb").read())
os.link("sub/.git/config", "sub/x0")
`;

test.each(settings)(
  "FAIL-J3 a new repository with a second name for its settings is none in $name",
  async (setting) => {
    await using workspace = await createWorkspace({ ".envrc": "kept\n", "make.py": MAKE });
    const at = (path: string): string => join(workspace.root, path);
    const git = (...args: readonly string[]) => execFileSync("git", args, { cwd: workspace.root });
    git("init", "-q", "template");
    git("init", "-q");
    git("add", ".envrc");
    rmSync(at(".envrc"));
    mkdirSync(at("sub"));
    await using commands = commandTools(setting, workspace.root, {
      allowlist: ["python3"],
      powers: [],
      denylist: [],
      startup: ["**/.envrc"],
    });
    await commands.use("run_cmd", "python3 make.py");
    // The oldest Landlock lets no file have names in two folders.
    expect(existsSync(at("sub/x0")) && existsSync(at("sub/.git/HEAD"))).toBe(false);
    // Just as git keeps it, and with a second name.
    await commands
      .use(
        "run_cmd",
        `python3 -c "import os; open('sub/e', 'w').write('kept\\n'); os.link('sub/e', '.envrc')"`,
      )
      .catch(() => "");
    expect(existsSync(at(".envrc"))).toBe(false);
  },
);

test("FAIL-J5 FAIL-J3 no tool moves a second name of a secret or of what is obeyed to where a command may reach it", async () => {
  const [setting] = settings;
  if (setting === undefined) throw new Error("no tier");
  await using workspace = await createWorkspace({
    ".env": "the secret\n",
    "conf/other": "",
    "share/other": "",
    "free/a": "",
    "d/x": "",
  });
  const at = (path: string): string => join(workspace.root, path);
  execFileSync("git", ["init", "-q", workspace.root]);
  linkSync(at(".env"), at("conf/notes.txt"));
  linkSync(at(".git/config"), at("share/notes.txt"));
  linkSync(at("free/a"), at("free/b"));
  await using commands = commandTools(setting, workspace.root, {
    allowlist: ["python3"],
    powers: [],
    denylist: ["**/.env"],
  });
  await commands.use("run_cmd", "python3 --version");
  const { writes } = commands;
  for (const source of ["conf", "conf/notes.txt", "share", "share/notes.txt"])
    await expect(writes.move(source, "d/moved"), source).rejects.toMatchObject({ code: "path_denied" });
  await expect(writes.rewrite("conf/notes.txt", "")).rejects.toMatchObject({ code: "path_denied" });
  await writes.move("free", "d/free");
  await writes.move("conf/other", "d/other");
  expect(existsSync(at("d/moved"))).toBe(false);
});
