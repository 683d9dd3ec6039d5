import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { REACH, type ReachId } from "../../src/policy/reach-table.ts";
import { allTools } from "../../src/tools/all.ts";
import { openTestApp, type TestApp } from "../app.ts";
import { someIfRepeated } from "../rounds.ts";

/** Entries of the table whose files a test may risk: llmc's own are tried in reach-matrix.test.ts. */
type Target = Exclude<ReachId, "program" | "pending">;

/** For each: a path that is there, and one that would come into being. */
const TARGETS: Readonly<Record<Target, { readonly existing: string; readonly fresh: string }>> = {
  state: { existing: "knowledge/planted.txt", fresh: ".llmc/fresh.txt" },
  user: { existing: ".local/state/llmc/planted.txt", fresh: ".config/llmc/fresh.txt" },
  config: { existing: "policies/planted.cedar", fresh: "policies/fresh.cedar" },
  modules: { existing: "mods/lib/planted.txt", fresh: "mods/fresh.txt" },
  models: { existing: "model/planted.txt", fresh: "model/fresh.txt" },
  git: { existing: ".git/info/planted", fresh: ".git/hooks/pre-commit" },
  startup: { existing: ".vscode/planted.json", fresh: ".idea/fresh.xml" },
  secret: { existing: "planted.pem", fresh: "fresh.pem" },
};
const IDS = Object.keys(TARGETS) as Target[];

const BEFORE = "before\n";
/** Without a policy in it, a file of policies would deny everything. */
const POLICY =
  '// before\n@id("planted") forbid (principal, action == Action::"admin_get_status", resource);\n';
const patchOf = (path: string, isNew: boolean): string =>
  [
    isNew ? "--- /dev/null" : `--- a/${path}`,
    `+++ b/${path}`,
    isNew ? "@@ -0,0 +1 @@" : "@@ -1 +1 @@",
    ...(isNew ? [] : ["-before"]),
    "+after",
    "",
  ].join("\n");

type Arguments = (path: string) => Readonly<Record<string, unknown>>;

/** How a client reaches a path with each tool that changes files. */
const TOOLS: Readonly<Record<string, { readonly change?: Arguments; readonly create?: Arguments }>> = {
  linux_fs_write: {
    change: (path) => ({ path, content: "after\n" }),
    create: (path) => ({ path, content: "after\n", mode: "append" }),
  },
  linux_fs_edit: { change: (path) => ({ path, old_text: "before", new_text: "after" }) },
  linux_fs_move: {
    change: (path) => ({ source: path, target: "moved" }),
    create: (path) => ({ source: "a.txt", target: path }),
  },
  linux_fs_copy: {
    change: (path) => ({ source: "a.txt", target: path, overwrite: true }),
    create: (path) => ({ source: "a.txt", target: path }),
  },
  linux_fs_delete: { change: (path) => ({ path }) },
  linux_fs_mkdirs: { create: (path) => ({ path: `${path}/x` }) },
  repo_write_patch: {
    change: (path) => ({ patch: patchOf(path, false) }),
    create: (path) => ({ patch: patchOf(path, true) }),
  },
};

const CONFIG = `[mcp]
mode = "classic"
[mcp.tools]
custom_modules = "mods"
denylist_globs = ["**/*.pem"]
[mcp.security]
policy_files = ["policies/*.cedar"]
[mcp.kb]
data_dir = "knowledge"
[mcp.rag]
embedder = "onnx"
embedder_model = "./model"
`;

const contentAt = (app: TestApp, path: string): string | undefined =>
  existsSync(join(app.root, path)) ? readFileSync(join(app.root, path), "utf8") : undefined;

const isDone = async (
  app: TestApp,
  tool: string,
  args: Readonly<Record<string, unknown>>,
): Promise<boolean> => (await app.ask(tool, args)).kind === "ok";

test("REQ-D16 FAIL-J13: every tool that writes is tried here as a client calls it", async () => {
  const tools = await Promise.all(allTools.map(({ load }) => load()));
  const writers = tools.filter(({ effect }) => effect === "write").map(({ name }) => name);
  expect(writers.filter((name) => !(name in TOOLS))).toEqual([]);
});

describe("REQ-D16 REQ-D24 FAIL-J3: tools that change files × entries, through the whole pipe", () => {
  test.each(someIfRepeated(Object.entries(TOOLS)))("%s", async (tool, { change, create }) => {
    const planted = IDS.map((id) => [TARGETS[id].existing, id === "config" ? POLICY : BEFORE] as const);
    const app = await openTestApp({
      isHome: true,
      config: CONFIG,
      files: {
        ".git/HEAD": "ref: refs/heads/main\n",
        ".git/objects/x": "",
        ".git/refs/x": "",
        "a.txt": "text\n",
        "free/planted.txt": BEFORE,
        ...Object.fromEntries(planted),
      },
    });
    // What any client may do shows that the call itself is right.
    if (change !== undefined) await app.text(tool, change("free/planted.txt"));
    if (create !== undefined) {
      await app.text(tool, create("free/fresh.txt"));
      if (tool === "linux_fs_move") await app.ask("linux_fs_write", { path: "a.txt", content: "text\n" });
    }
    for (const id of IDS) {
      const { existing, fresh } = TARGETS[id];
      const { write, create: mayCreate = write } = REACH[id];
      const before = contentAt(app, existing);
      if (change !== undefined) {
        await app.ask("linux_fs_delete", { path: "moved" });
        expect(await isDone(app, tool, change(existing)), `${id}: change`).toBe(write.includes("tools"));
        if (!write.includes("tools")) expect(contentAt(app, existing), id).toBe(before);
      }
      if (create !== undefined) {
        if (tool !== "linux_fs_mkdirs") mkdirSync(dirname(join(app.root, fresh)), { recursive: true });
        expect(await isDone(app, tool, create(fresh)), `${id}: create`).toBe(mayCreate.includes("tools"));
        expect(existsSync(join(app.root, fresh)), id).toBe(mayCreate.includes("tools"));
        if (tool === "linux_fs_move") await app.ask("linux_fs_write", { path: "a.txt", content: "text\n" });
      }
    }
  });
});
