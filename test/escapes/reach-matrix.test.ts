import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFileWrites } from "../../src/host/write/file-writes.ts";
import { REACH, type ReachEntry, type ReachId } from "../../src/policy/reach-table.ts";
import { allTools } from "../../src/tools/all.ts";
import { someIfRepeated } from "../rounds.ts";
import type { Workspace } from "../workspace.ts";
import { casesIn, GIT, settings } from "./command-stand.ts";
import { commandTools, type ToolName } from "./command-tools.ts";
import { templateOf } from "./template.ts";
import { writesOptions } from "./write-port.ts";

/** Entries of the table, and state that the configuration names elsewhere. */
type Target = ReachId | "state folder" | "state file";

const entryOf = (target: Target): ReachEntry =>
  REACH[target === "state folder" || target === "state file" ? "state" : target];

/** For every entry of the table: a path that is there, and one that would come into being. */
const TARGETS: Readonly<Record<Target, { readonly existing: string; readonly fresh: string }>> = {
  state: { existing: ".llmc/planted", fresh: ".llmc/new" },
  "state folder": { existing: "knowledge/kb.db", fresh: "knowledge/new" },
  "state file": { existing: "tape.json", fresh: "tapes/new.json" },
  user: { existing: "home/llmc/key", fresh: "home/llmc/new" },
  pending: {
    existing: ".llmc-tmp-0123456789abcdef01234567",
    fresh: "src/.llmc-tmp-76543210fedcba9876543210",
  },
  program: { existing: "program/src/main.ts", fresh: "program/src/new.ts" },
  config: { existing: "llmc.toml", fresh: "conf/policy.cedar" },
  modules: { existing: "modules/a.ts", fresh: "modules/b.ts" },
  models: { existing: "model/model.onnx", fresh: "model/new" },
  git: { existing: ".git/config", fresh: ".git/hooks/pre-commit" },
  startup: { existing: ".vscode/tasks.json", fresh: "sub/.idea/run.xml" },
  secret: { existing: ".env", fresh: "sub/.env" },
};
const IDS = Object.keys(TARGETS) as Target[];

/** Secrets lie inside everything else that commands may only read, and so do files beside them. */
const BESIDE_SECRETS = ["program/src/deep", "modules/lib", "model/onnx", ".vscode/inner", ".git/hooks/inner"];

const SECRET = "the secret of this matrix";

const STATE = { stateFolders: () => ["knowledge"], stateFiles: () => ["tape.json", "tapes/new.json"] };

const RULES = {
  ...STATE,
  obeyedPaths: () => ({
    user: ["home/llmc"],
    program: ["program"],
    config: ["conf/policy.cedar"],
    modules: ["modules"],
    models: ["model"],
  }),
  startup: () => [".vscode/", ".idea/"],
  denylist: () => ["**/.env"],
};

const plant = templateOf((root) => {
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    if (!existsSync(join(root, path))) writeFileSync(join(root, path), text);
  };
  execFileSync(GIT, ["init", "-q", "."], { cwd: root });
  put("src/a.txt", "text\n");
  put("conf/other", "");
  for (const id of IDS) put(TARGETS[id].existing, "before\n");
  for (const folder of BESIDE_SECRETS) {
    // Git directories are not looked through: nothing there is the user's own file.
    if (!folder.startsWith(".git/")) put(`${folder}/.env`, SECRET);
    put(`${folder}/code.ts`, "before\n");
  }
});

const contentOf = ({ root }: Workspace, path: string): string | undefined =>
  lstatSync(join(root, path), { throwIfNoEntry: false })?.isFile() === true
    ? readFileSync(join(root, path), "utf8")
    : undefined;

type Writes = ReturnType<typeof createFileWrites>;
type Attempt = (writes: Writes, path: string) => Promise<unknown>;

/** How each tool that changes files reaches a path. */
const FILE_TOOLS: Readonly<Record<string, { readonly change?: Attempt; readonly create?: Attempt }>> = {
  linux_fs_write: {
    change: async (writes, path) => [
      await writes.rewrite(path, "after\n").catch(() => {}),
      await writes.append(path, "after\n"),
    ],
    create: (writes, path) => writes.rewrite(path, "after\n"),
  },
  linux_fs_edit: { change: (writes, path) => writes.update(path, () => "after\n") },
  linux_fs_move: {
    change: (writes, path) => writes.move(path, "moved"),
    create: (writes, path) => writes.move("src/a.txt", path),
  },
  linux_fs_copy: {
    change: (writes, path) => writes.copy("src/a.txt", path, { overwrite: true }),
    create: (writes, path) => writes.copy("src/a.txt", path, { overwrite: false }),
  },
  linux_fs_delete: { change: (writes, path) => writes.remove(path, { recursive: true }) },
  linux_fs_mkdirs: { create: (writes, path) => writes.makeDirs(`${path}/x`, { existOk: true }) },
  repo_write_patch: {
    change: (writes, path) =>
      writes.applyAll([{ kind: "update", path, change: () => "after\n" }], { dryRun: false }),
    create: (writes, path) => writes.applyAll([{ kind: "create", path, text: "after\n" }], { dryRun: false }),
  },
};

/** Tools that run something; those that only reach what already runs are named with the one that started it. */
const COMMAND_TOOLS: Readonly<Record<string, ToolName | "started by linux_proc_start" | "calls the others">> =
  {
    // Its programs reach nothing but tools: guest-javascript.test.ts, guest-python.test.ts, confined.test.ts.
    execute_code: "calls the others",
    run_cmd: "run_cmd",
    te_run: "te_run",
    run_pytest: "run_pytest",
    linux_proc_start: "linux_proc_start",
    linux_proc_send: "started by linux_proc_start",
    linux_proc_stop: "started by linux_proc_start",
    linux_proc_kill: "started by linux_proc_start",
  };

test("REQ-D16 FAIL-J13 every tool that writes or executes, and every entry of the table, is in this matrix", async () => {
  const tools = await Promise.all(allTools.map(async (entry) => ("load" in entry ? entry.load() : entry)));
  // Text that is sent to a model changes no file.
  const writers = tools
    .filter(({ effect }) => effect === "write" || effect === "execute")
    .map(({ name }) => name);
  expect([...Object.keys(FILE_TOOLS), ...Object.keys(COMMAND_TOOLS)].toSorted()).toEqual(writers.toSorted());
  expect(new Set(IDS.map(entryOf))).toEqual(new Set(Object.values(REACH)));
});

describe("REQ-D16 REQ-D24 FAIL-J3 file tools × entries", () => {
  for (const [tool, { change, create }] of Object.entries(FILE_TOOLS)) {
    test.each(someIfRepeated(IDS))(`${tool} × %s`, async (id) => {
      await using workspace = await plant();
      const writes = createFileWrites(writesOptions(workspace.root, RULES));
      const { existing, fresh } = TARGETS[id];
      const before = contentOf(workspace, existing);
      if (change !== undefined) {
        const outcome = await change(writes, existing).then(
          () => "done",
          () => "refused",
        );
        const may = entryOf(id).write.includes("tools");
        expect([outcome, contentOf(workspace, existing) === before]).toEqual(
          may ? ["done", false] : ["refused", true],
        );
      }
      if (create !== undefined) {
        const parent = dirname(join(workspace.root, fresh));
        if (!existsSync(parent) && tool !== "linux_fs_mkdirs") mkdirSync(parent, { recursive: true });
        const outcome = await create(writes, fresh).then(
          () => "done",
          () => "refused",
        );
        const { write, create: may = write } = entryOf(id);
        expect(outcome).toBe(may.includes("tools") ? "done" : "refused");
        if (outcome === "refused") expect(existsSync(join(workspace.root, fresh))).toBe(false);
      }
    });
  }
});

/** Tries every way to change what is there, and to make what is not; says nothing, the disk tells. */
const HOSTILE = `
import json, os, pathlib
def attempt(work):
    try: work()
    except OSError: pass
for target in json.load(open("targets.json")):
    old, new = pathlib.Path(target["existing"]), pathlib.Path(target["fresh"])
    attempt(lambda: old.write_text("after\\n"))
    attempt(lambda: open(old, "a").write("after\\n"))
    attempt(lambda: os.truncate(old, 0))
    attempt(lambda: os.rename(old, "moved"))
    attempt(lambda: os.link("src/a.txt", "l") or os.rename("l", old))
    attempt(lambda: os.symlink("src/a.txt", "m") or os.rename("m", old))
    attempt(lambda: os.unlink(old))
    attempt(lambda: os.rename(old.parent, "moved-parent") if str(old.parent) != "." else None)
    attempt(lambda: os.makedirs(new.parent, exist_ok=True))
    attempt(lambda: new.write_text("after\\n"))
    attempt(lambda: os.symlink("src/a.txt", new))
for folder in json.load(open("beside.json")):
    attempt(lambda: open(folder + "/code.ts", "w").write("after\\n"))
    attempt(lambda: open(folder + "/new.ts", "w").write("after\\n"))
    attempt(lambda: print(open(folder + "/.env").read()))
open("done", "w").close()
`;

const COMMANDS = [...new Set(Object.values(COMMAND_TOOLS))].filter(
  (tool): tool is ToolName => tool !== "started by linux_proc_start" && tool !== "calls the others",
);

describe.each(settings)("REQ-D16 REQ-D24 FAIL-J1 FAIL-J3 commands × entries in $name", (setting) => {
  test.each(casesIn(setting, COMMANDS))("%s", async (tool) => {
    await using workspace = await plant();
    await workspace.write("hostile.py", HOSTILE);
    await workspace.write("targets.json", JSON.stringify(Object.values(TARGETS)));
    await workspace.write("beside.json", JSON.stringify(BESIDE_SECRETS));
    await workspace.write("package.json", '{"scripts":{"test":"node --test"}}');
    await workspace.write(
      "hostile.test.mjs",
      'import { spawnSync } from "node:child_process"; spawnSync("/usr/bin/python3", ["hostile.py"]);',
    );
    await workspace.write("done", "");
    await using commands = commandTools(setting, workspace.root, {
      allowlist: ["python3", process.execPath],
      powers: [],
      denylist: RULES.denylist(),
      ...STATE,
      obeyedPaths: RULES.obeyedPaths,
      startup: RULES.startup(),
    });
    const before = new Map(IDS.map((id) => [id, contentOf(workspace, TARGETS[id].existing)]));
    const startedAt = lstatSync(join(workspace.root, "done")).ctimeMs;
    const seen = await commands.use(tool, "python3 hostile.py");
    expect(lstatSync(join(workspace.root, "done")).ctimeMs, seen.slice(0, 1000)).toBeGreaterThan(startedAt);
    const isHeld = setting.tier !== "plain";
    if (isHeld) {
      expect(seen).not.toContain(SECRET);
      for (const folder of BESIDE_SECRETS) {
        expect(contentOf(workspace, `${folder}/code.ts`), folder).toBe("before\n");
        expect(existsSync(join(workspace.root, folder, "new.ts")), folder).toBe(false);
      }
    }
    for (const id of IDS) {
      // A file that is being written bears a name that nobody can guess.
      if (id === "pending") continue;
      const { write, create = write } = entryOf(id);
      // Nothing holds an interpreter on the plain tier: SECURITY.md says so.
      if (isHeld && !write.includes("commands"))
        expect(contentOf(workspace, TARGETS[id].existing), id).toBe(before.get(id));
      const isMade = existsSync(join(workspace.root, TARGETS[id].fresh));
      if (isHeld && !create.includes("commands") && id !== "startup") expect(isMade, id).toBe(false);
      // What is new is set aside on every tier; after a long run it may be the user's own, and is only told.
      if (id === "startup" && tool !== "linux_proc_start") expect(isMade, id).toBe(false);
    }
  });
});

describe("REQ-D16 REQ-D23 FAIL-J3 redirections × entries: they read as the file tools, and write no more than commands", () => {
  test.each(someIfRepeated(IDS))("%s", async (id) => {
    const [setting] = settings;
    if (setting === undefined) throw new Error("no tier");
    await using workspace = await plant();
    await using commands = commandTools(setting, workspace.root, {
      allowlist: ["cat"],
      powers: [],
      denylist: RULES.denylist(),
      ...STATE,
      obeyedPaths: RULES.obeyedPaths,
      startup: RULES.startup(),
    });
    const { existing, fresh } = TARGETS[id];
    const { read, write, create = write } = entryOf(id);
    const attempt = (line: string): Promise<string> =>
      commands.use("run_cmd", line).then(
        () => "done",
        () => "refused",
      );
    const before = contentOf(workspace, existing);
    for (const line of [
      `cat src/a.txt > ${existing}`,
      `cat src/a.txt >> ${existing}`,
      `cat src/a.txt | cat &> ${existing}`,
    ])
      expect(await attempt(line), line).toBe(write.includes("commands") ? "done" : "refused");
    if (!write.includes("commands")) expect(contentOf(workspace, existing)).toBe(before);
    mkdirSync(dirname(join(workspace.root, fresh)), { recursive: true });
    expect(await attempt(`cat src/a.txt 2> ${fresh}`)).toBe(create.includes("commands") ? "done" : "refused");
    expect(existsSync(join(workspace.root, fresh))).toBe(create.includes("commands"));
    expect(await attempt(`cat < ${existing}`)).toBe(read.includes("tools") ? "done" : "refused");
  });
});
