import { execFileSync } from "node:child_process";
import { link, mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { rounds } from "../rounds.ts";
import { createWorkspace, type Workspace } from "../workspace.ts";
import { GIT, type Setting, sandboxes } from "./command-stand.ts";
import { type CommandTools, commandTools } from "./command-tools.ts";

const SECRET = "planted-secret-77d1";
const DENYLIST = ["**/.env", "**/*.key", "**/.aws/**"];

const toolsFor = (setting: Setting, workspace: Workspace): CommandTools =>
  commandTools(setting, workspace.root, {
    allowlist: ["grep", "cat", "sh", "git", "ls"],
    powers: ["sh:run"],
    denylist: DENYLIST,
  });

const GREP = "grep -r planted .";

/** The age of the kernel changes nothing about which names are granted. */
const tiers = sandboxes.filter(({ maxLandlockAbi }) => maxLandlockAbi === undefined);

describe.each(tiers)("FAIL-A10 REQ-X10 secrets by name in $name", (setting) => {
  test("are not read by any command, wherever they lie, and what lies beside them is", async () => {
    await using workspace = await createWorkspace({
      ".env": SECRET,
      "a/b/c/d/Prod.KEY": SECRET,
      "a/b/.aws/credentials": SECRET,
      "a/b/plain.txt": "planted in plain sight",
      "node_modules/x/.env": SECRET,
      "packages/other/.llmc/state": SECRET,
    });
    await using tools = toolsFor(setting, workspace);
    for (const tool of [
      "run_cmd",
      "te_run",
      "linux_proc_start",
      "linux_proc_start with a terminal",
    ] as const) {
      const seen = await tools.use(tool, GREP);
      expect(seen).not.toContain(SECRET);
      expect(seen).toContain("plain sight");
    }
    const moves =
      "mv .env x; ln a/b/c/d/Prod.KEY a/hard; mv a/b/c z; mv a q; cp -r q/b w; cat x a/hard z/d/* q/b/c/d/*";
    expect(await tools.use("run_cmd", `sh -c '${moves}; grep -r planted .'`)).not.toContain(SECRET);
    await expect(tools.use("run_cmd", "cat a/b/../b/.aws/credentials")).rejects.toMatchObject({
      code: "path_denied",
    });
  });

  test("REQ-F8 a folder is withheld with all that is in it, or not at all, by every way to name it", async () => {
    await using workspace = await createWorkspace({
      "my.key/a.yaml": "planted in an open folder",
      "my.key/deep/.env": SECRET,
      ".aws/b.yaml": SECRET,
      "lib/index.ts": "",
    });
    await symlink("my.key", join(workspace.root, "other.key"));
    await using tools = toolsFor(setting, workspace);
    for (const line of ["my.key", "my.key/", "./my.key/a.yaml", "other.key/", "."]) {
      const seen = await tools.use("run_cmd", `grep -r planted ${line}`);
      expect(seen, line).toContain("in an open folder");
      expect(seen, line).not.toContain(SECRET);
    }
    expect(await tools.use("run_cmd", "ls my.key other.key")).toContain("a.yaml");
    expect(await tools.use("run_cmd", "ls other.key")).toContain("a.yaml");
    for (const line of [".aws", ".aws/", "lib/../.aws", ".aws/b.yaml"])
      await expect(tools.use("run_cmd", `grep -r planted ${line}`), line).rejects.toMatchObject({
        code: "path_denied",
      });
  });

  test("also one that came into being a moment ago: made, renamed, moved in with its folder", async () => {
    await using workspace = await createWorkspace({ "deep/er/plain.txt": SECRET, "other/x/.keep": "" });
    await using outside = await createWorkspace({ "moved/in/.env": SECRET });
    await using tools = toolsFor(setting, workspace);
    const inside = (path: string): string => join(workspace.root, path);
    expect(await tools.use("run_cmd", GREP)).toContain(SECRET);
    await rename(inside("deep/er/plain.txt"), inside("deep/er/.env"));
    expect(await tools.use("run_cmd", GREP)).not.toContain(SECRET);
    for (let round = 0; round < rounds(2, 50); round++) {
      const folder = inside(`other/x/${round}`);
      await mkdir(folder);
      expect(await tools.use("run_cmd", GREP)).not.toContain(SECRET);
      await writeFile(join(folder, ".env"), SECRET);
      expect(await tools.use("run_cmd", GREP)).not.toContain(SECRET);
    }
    await rename(join(outside.root, "moved"), inside("moved"));
    expect(await tools.use("run_cmd", GREP)).not.toContain(SECRET);
    await rename(inside("moved"), inside("again"));
    expect(await tools.use("run_cmd", GREP)).not.toContain(SECRET);
  }, 120_000);

  test("FAIL-A19 REQ-D16: the state is hidden as well where the operator made it a link", async () => {
    for (const isInside of [true, false]) {
      await using workspace = await createWorkspace({ "x/y": "planted y" });
      await using outside = await createWorkspace();
      const home = isInside ? workspace : outside;
      await home.write("elsewhere/planted", SECRET);
      await symlink(join(home.root, "elsewhere"), join(workspace.root, ".llmc"));
      await using tools = toolsFor(setting, workspace);
      const seen = await tools.use("run_cmd", "grep -r -s planted . .llmc/");
      expect(seen).not.toContain(SECRET);
      expect(seen).toContain("planted y");
    }
  });

  test("one that has gone leaves nothing in its place", async () => {
    await using workspace = await createWorkspace({ ".env": SECRET, "sub/.env": SECRET, "sub/x": "" });
    await using tools = toolsFor(setting, workspace);
    await tools.use("run_cmd", "ls");
    await rm(join(workspace.root, ".env"));
    await rm(join(workspace.root, "sub"), { recursive: true });
    await tools.use("run_cmd", "ls");
    expect((await readdir(workspace.root)).sort()).toEqual([".llmc"]);
  });

  test("git sees what it keeps as it is, and nothing of the rest", async () => {
    await using workspace = await createWorkspace({
      "kept/.env": "kept-content\n",
      "loose/.env": `${SECRET}\n`,
      "empty/x": "",
      "file.txt": "x",
    });
    const git = (...args: string[]): Buffer => execFileSync(GIT, args, { cwd: workspace.root });
    git("init", "-q", ".");
    git("add", "-f", "kept", "file.txt");
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one");
    // How an index is written has nothing to do with the tier.
    for (const version of setting === tiers[0] ? ["2", "4"] : ["3"]) {
      git("update-index", "--index-version", version);
      await using tools = toolsFor(setting, workspace);
      const status = await tools.use("run_cmd", "git status --short --untracked-files=no");
      expect(status).not.toContain("kept/.env");
      expect(status).toContain('"exit_code":0');
      for (const line of [
        "git grep --no-index planted",
        "git grep --untracked planted",
        "git diff --no-index empty loose",
      ])
        expect(await tools.use("run_cmd", line)).not.toContain(SECRET);
      expect(await tools.use("run_cmd", "git grep --no-index content")).toContain("kept-content");
    }
  });

  test("very many are covered by their folders, in bounded time, and the rest goes on", async () => {
    const [secrets, files] = [rounds(500, 10_000), rounds(3000, 100_000)];
    await using workspace = await createWorkspace({
      "crowd/.env": SECRET,
      "sub/.env": SECRET,
      "sub/x": "planted x",
    });
    await mkdir(join(workspace.root, "keys/deeper"), { recursive: true });
    await workspace.write("keys/deeper/plain.txt", "planted in plain sight");
    for (let i = 0; i < secrets; i++) await writeFile(join(workspace.root, `keys/deeper/${i}.key`), SECRET);
    for (let i = 0; i < files; i++) await writeFile(join(workspace.root, `crowd/${i}.txt`), "");
    await using tools = toolsFor(setting, workspace);
    const seen = await tools.use("run_cmd", "grep -r -s planted .");
    expect(seen).not.toContain(SECRET);
    expect(seen).toContain("planted x");
    expect(await tools.use("run_cmd", "cat keys/deeper/plain.txt")).toContain("ermission denied");
    await expect(tools.use("run_cmd", "ls")).resolves.toContain("crowd");
  }, 180_000);

  test("too many in the top folder itself: nothing runs, and the way out is told", async () => {
    await using workspace = await createWorkspace();
    for (let i = 0; i < 101; i++) await writeFile(join(workspace.root, `${i}.key`), SECRET);
    await using tools = toolsFor(setting, workspace);
    await expect(tools.use("run_cmd", "ls")).rejects.toMatchObject({
      code: "unavailable",
      hint: expect.stringContaining("denylist_globs"),
    });
    await rm(join(workspace.root, "0.key"));
    expect(await tools.use("run_cmd", "grep -s planted 1.txt 5.txt")).not.toContain(SECRET);
  });

  test("FAIL-A4 FAIL-J5: a hard link under another name is withheld as well", async () => {
    await using workspace = await createWorkspace({ "sub/.env": SECRET });
    await link(join(workspace.root, "sub/.env"), join(workspace.root, "notes.txt"));
    await using tools = toolsFor(setting, workspace);
    const seen = await tools.use("run_cmd", "cat notes.txt").catch((thrown: Error) => thrown.message);
    expect(seen).not.toContain(SECRET);
  });
});
