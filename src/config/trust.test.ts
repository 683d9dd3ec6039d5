import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { stringify } from "smol-toml";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { NO_FOLDERS, NO_TRUST } from "../../test/config-request.ts";
import type { Option } from "../base/option.ts";
import { createDisk } from "../host/own-files/disk.ts";
import { createTrustFiles } from "../host/trust/trust-files.ts";
import { loadConfig } from "./load.ts";
import type { LoadRequest } from "./load-request.ts";
import { logSettings } from "./log-settings.ts";
import { ENTRIES, valueAt } from "./sections.ts";
import { trustFile } from "./trust-record.ts";
import { waitingHint } from "./waiting.ts";

let base = "";
let root = "";
beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "llmc-trust-")));
  root = join(base, "work");
  await mkdir(join(root, "src"), { recursive: true });
});
afterEach(() => rm(base, { recursive: true, force: true }));

const folders = () => ({ home: base, config: join(base, "config"), state: join(base, "state") });
const write = (text: string, path = join(root, "llmc.toml")) => writeFile(path, text);
const load = (request: Partial<LoadRequest> = {}) =>
  loadConfig({ disk: createDisk(), trust: NO_TRUST, folders: folders(), env: {}, root, ...request });
const tools = async (text: string, request: Partial<LoadRequest> = {}) => {
  await write(`[mcp.tools]\n${text}\n`);
  const { config, waiting } = await load(request);
  return { ...config.mcp.tools, waits: waiting.map(({ key }) => key.replace("mcp.tools.", "")) };
};
const granting = (values: Readonly<Record<string, unknown>>): Partial<LoadRequest> => ({
  trust: { readRecord: async () => JSON.stringify({ version: 1, workspace: root, values, digests: {} }) },
});

describe("REQ-D22 REQ-C8: what an untrusted file changes", () => {
  it("narrowing is in force at once", async () => {
    const text =
      'run_cmd_allowlist = ["ls"]\nexec_timeout = 5\nenable_run_cmd = false\ncommand_sandbox = "require"\nallowed_roots = ["src"]';
    expect(await tools(text)).toMatchObject({
      run_cmd_allowlist: ["ls"],
      exec_timeout: 5,
      enable_run_cmd: false,
      command_sandbox: "require",
      allowed_roots: ["src"],
      waits: [],
    });
  });

  it("FAIL-J2: widening waits: the value without the file stays, numbers are clamped, entries are left out", async () => {
    const text =
      'run_cmd_allowlist = ["ls", "sh"]\nexec_timeout = 5000\nallow_outbound_network = true\ncommand_sandbox = "off"\ncustom_modules = "mods"\ndenylist_globs = ["**/x"]\nallowed_roots = [".", "/"]';
    const loaded = await tools(text);
    expect(loaded).toMatchObject({
      run_cmd_allowlist: ["ls"],
      exec_timeout: 30,
      allow_outbound_network: false,
      command_sandbox: "auto",
      custom_modules: "",
      allowed_roots: ["."],
    });
    expect(loaded.denylist_globs).toEqual(expect.arrayContaining(["**/x", "**/.env"]));
    expect(loaded.waits.toSorted()).toEqual(
      "allow_outbound_network allowed_roots command_sandbox custom_modules denylist_globs exec_timeout run_cmd_allowlist".split(
        " ",
      ),
    );
  });

  it("what was granted holds, whatever else changes in the file", async () => {
    const trusted = granting({
      "mcp.tools.run_cmd_allowlist": ["sh"],
      "mcp.tools.exec_timeout": 600,
      "mcp.tools.allowed_roots": ["/"],
    });
    expect(
      await tools(
        '# new\nrun_cmd_allowlist = ["sh", "perl"]\nexec_timeout = 400\nallowed_roots = ["/"]',
        trusted,
      ),
    ).toMatchObject({
      run_cmd_allowlist: ["sh"],
      exec_timeout: 400,
      allowed_roots: ["/"],
      waits: ["run_cmd_allowlist"],
    });
    expect(await tools("exec_timeout = 700", trusted)).toMatchObject({
      exec_timeout: 600,
      waits: ["exec_timeout"],
    });
  });

  it("a root that is a link is what it leads to", async () => {
    await symlink("/", join(root, "everything"));
    await symlink(join(root, "src"), join(root, "near"));
    expect(await tools('allowed_roots = ["everything"]')).toMatchObject({
      allowed_roots: ["."],
      waits: ["allowed_roots"],
    });
    expect((await tools('allowed_roots = ["near"]')).allowed_roots).toEqual([join(root, "src")]);
    // One inside another could be swapped for a link by whoever may write there.
    expect((await tools('allowed_roots = [".", "src"]')).allowed_roots).toEqual(["."]);
  });

  it("an unlimited number is the largest, and an empty filter the widest", async () => {
    await write(
      "[mcp.te]\nsession_token_budget = 0\nretention_days = 1\n[mcp.rlm]\nallowed_model_prefixes = []\n",
    );
    const env = { LLMC_MCP_RLM_ALLOWED_MODEL_PREFIXES: "ollama_chat/" };
    await mkdir(folders().config);
    await write('mcp.rlm.allowed_model_prefixes = ["ollama_chat/"]', join(folders().config, "config.toml"));
    const { config, waiting } = await load();
    expect(config.mcp.te).toMatchObject({ session_token_budget: 1_000_000, retention_days: 90 });
    expect(config.mcp.rlm.allowed_model_prefixes).toEqual(["ollama_chat/"]);
    expect(waiting).toHaveLength(3);
    expect((await load({ env })).waiting).toHaveLength(2);
  });

  it("a log key that wins when it is set does not hide what the operator logs", async () => {
    await write('[mcp.logging]\nlevel = "info"\n');
    const env = { LLMC_MCP_OBSERVABILITY_LOG_LEVEL: "debug" };
    const loaded = await load({ env });
    expect(logSettings(loaded).level).toBe("debug");
    expect(loaded.waiting.map(({ key }) => key)).toEqual(["mcp.logging.level"]);
    expect((await load()).waiting).toEqual([]);
  });

  it("refusals can say what trust would lift", async () => {
    await write('[mcp.tools]\nrun_cmd_allowlist = ["npm"]\nallowed_roots = ["../data"]\n');
    const { waiting } = await load();
    expect(waitingHint(waiting, "mcp.tools.run_cmd_allowlist", "npm")).toBe(
      "llmc.toml allows npm, but this workspace is not trusted: run llmc trust",
    );
    expect(waitingHint(waiting, "mcp.tools.run_cmd_allowlist", "curl")).toBeUndefined();
    expect(waitingHint(waiting, "mcp.tools.allowed_roots", join(base, "data/x"))).toContain("llmc trust");
    expect(waitingHint(waiting, "mcp.tools.allowed_roots", "/etc/x")).toBeUndefined();
  });
});

describe("REQ-D22: the operator's word", () => {
  const WIDE = '[mcp.tools]\nrun_cmd_allowlist = ["sh"]\n';
  const listed = async (request: Partial<LoadRequest> = {}) =>
    (await load(request)).config.mcp.tools.run_cmd_allowlist;

  it("REQ-C2: flags over the environment over the workspace over the user's own file over defaults", async () => {
    await mkdir(folders().config);
    await write("[mcp.tools]\nread_timeout = 8\nexec_timeout = 300\n", join(folders().config, "config.toml"));
    const user = await load();
    expect(user.config.mcp.tools).toMatchObject({ read_timeout: 8, exec_timeout: 300 });
    expect(user.origins.get("mcp.tools.read_timeout")).toEqual({
      source: "user",
      detail: `${join(folders().config, "config.toml")}:2`,
    });
    await write("[mcp.tools]\nread_timeout = 7\nexec_timeout = 200\n");
    const workspace = await load();
    expect(workspace.config.mcp.tools).toMatchObject({ read_timeout: 7, exec_timeout: 200 });
    expect(workspace.waiting).toEqual([]);
    const env = { LLMC_MCP_TOOLS_READ_TIMEOUT: "600" };
    expect((await load({ env })).config.mcp.tools.read_timeout).toBe(600);
    const overrides = { "mcp.tools.read_timeout": "700" };
    expect((await load({ env, overrides })).config.mcp.tools.read_timeout).toBe(700);
  });

  it("REQ-D5: the user's file is not a file that names no mode", async () => {
    await mkdir(folders().config);
    await write("[mcp.tools]\nread_timeout = 8\n", join(folders().config, "config.toml"));
    expect((await load()).config.mcp.mode).toBe("hybrid");
  });

  it("a named file outside every root is the operator's; inside, or by a link, it is the workspace's", async () => {
    const outside = join(base, "own.toml");
    await write(WIDE, outside);
    expect(await listed({ configPath: outside })).toEqual(["sh"]);
    await write(WIDE, join(root, "own.toml"));
    expect(await listed({ configPath: join(root, "own.toml") })).toEqual([]);
    await symlink(join(root, "own.toml"), join(base, "link.toml"));
    expect(await listed({ configPath: join(base, "link.toml") })).toEqual([]);
    await symlink(outside, join(root, "link.toml"));
    expect(await listed({ configPath: "link.toml" })).toEqual([]);
    await symlink(outside, join(root, "llmc.toml"));
    expect(await listed()).toEqual([]);
    const overrides = { "mcp.tools.allowed_roots": `.,${base}` };
    expect(await listed({ configPath: outside, overrides })).toEqual([]);
    expect(
      await listed({ configPath: outside, overrides: { "mcp.linux_ops.roots.enforce_roots": "false" } }),
    ).toEqual([]);
  });
});

describe("REQ-D22: records", () => {
  it.each([
    ["no JSON", "{", "malformed"],
    ["another shape", '{"version":2}', "malformed"],
    [
      "another workspace's",
      '{"version":1,"workspace":"/other","values":{},"digests":{}}',
      "another workspace's",
    ],
  ])("one that is bad grants nothing and is reported: %s", async (_name, text, why) => {
    const path = trustFile(folders().state, root);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, text, { mode: 0o600 });
    await write("");
    const { warnings } = await load({ trust: createTrustFiles() });
    expect(warnings.join()).toContain(why);
  });

  it("a link, a folder, and a file that others can write are not believed", async () => {
    const path = trustFile(folders().state, root);
    await mkdir(join(path, ".."), { recursive: true });
    await write('[mcp.tools]\nrun_cmd_allowlist = ["sh"]\n');
    const good = JSON.stringify({
      version: 1,
      workspace: root,
      values: { "mcp.tools.run_cmd_allowlist": ["sh"] },
      digests: {},
    });
    const allowed = async () =>
      (await load({ trust: createTrustFiles() })).config.mcp.tools.run_cmd_allowlist;
    await writeFile(path, good, { mode: 0o600 });
    expect(await allowed()).toEqual(["sh"]);
    await rm(path);
    await writeFile(join(base, "elsewhere"), good, { mode: 0o600 });
    await symlink(join(base, "elsewhere"), path);
    expect(await allowed()).toEqual([]);
    await rm(path);
    await mkdir(path);
    expect(await allowed()).toEqual([]);
  });
});

/** Whether `other` gives nothing that `one` does not, judged apart from the code under test. */
const isNoWider = (option: Option, one: unknown, other: unknown): boolean => {
  const { widens, unlimited } = option;
  const same = JSON.stringify(one) === JSON.stringify(other);
  const rank = (value: unknown): number => (value === unlimited ? Number.POSITIVE_INFINITY : Number(value));
  const [before, after] = [one, other].map((value) => (Array.isArray(value) ? value.map(String) : []));
  if (same || widens === "never") return true;
  if (typeof widens === "boolean") return other !== widens;
  if (widens === "any") return false;
  if (widens === "more") return rank(other) <= rank(one);
  if (widens === "less") return rank(other) >= rank(one);
  if (widens === "additions") return after?.every((item) => before?.includes(item)) ?? false;
  if (widens === "removals") return before?.every((item) => after?.includes(item)) ?? false;
  if (widens === "roots" || widens === "outside")
    return after?.every((item) => /^(?!\.\.|\/)/.test(item)) ?? false;
  if (widens === "filter") return before?.length === 0 || (after?.length ?? 0) > 0;
  return widens.indexOf(String(other)) <= widens.indexOf(String(one));
};

const PATHS = [".", "src", "a/b", "..", "../x", "/", "/etc", "a/../../x"];

const valuesOf = ({ kind, widens, default: value }: Option): fc.Arbitrary<unknown> => {
  const known = Array.isArray(value) ? value.map(String) : [];
  switch (kind.is) {
    case "flag":
      return fc.boolean();
    case "whole":
      return fc.integer({ min: kind.min, max: kind.max });
    case "decimal":
      return fc.double({ min: kind.min, max: kind.max, noNaN: true });
    case "choice":
      return fc.constantFrom(...kind.values);
    case "text":
      return kind.shape === undefined ? fc.string({ maxLength: 20 }) : fc.constant(String(value));
    case "list":
      if (kind.shape !== undefined) return fc.constant([]);
      if (widens === "roots" || widens === "outside")
        return fc.array(fc.constantFrom(...PATHS), { maxLength: 4 });
      return fc.array(fc.constantFrom(...known, "sh", "other"), { maxLength: 6 });
  }
};

const SETTABLE = [...ENTRIES.values()];

const nest = (values: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const tree: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(values)) {
    const names = key.split(".");
    const last = names.pop() ?? "";
    let node = tree;
    for (const name of names) {
      node[name] ??= {};
      node = node[name] as Record<string, unknown>;
    }
    node[last] = value;
  }
  return tree;
};

test("REQ-D22 FAIL-J1: no file of an untrusted workspace makes any key wider than it is without the file", async () => {
  const files = fc.record(Object.fromEntries(SETTABLE.map(({ key, option }) => [key, valuesOf(option)])), {
    requiredKeys: [],
  });
  const loadText = (text: string | undefined) =>
    loadConfig({
      disk: {
        readText: async (path) => (path === "/w/llmc.toml" ? text : undefined),
        realOrFuture: (path) => path,
        identityOf: () => null,
      },
      trust: NO_TRUST,
      folders: NO_FOLDERS,
      env: {},
      root: "/w",
      lines: false,
    });
  const without = await loadText(undefined);
  const linuxRoots = (loaded: typeof without): unknown =>
    loaded.config.mcp.linux_ops.roots.allowed_roots ?? loaded.config.mcp.tools.allowed_roots;
  await fc.assert(
    fc.asyncProperty(files, async (values) => {
      const loaded = await loadText(stringify(nest(values)));
      const wider = SETTABLE.filter(({ key, option }) => {
        const isLinux = key === "mcp.linux_ops.roots.allowed_roots";
        const [one, other] = [without, loaded].map((each) =>
          isLinux ? linuxRoots(each) : valueAt(each.config, key),
        );
        return !isNoWider(option, one, other);
      });
      expect(wider.map(({ key }) => key)).toEqual([]);
      expect(logSettings(loaded)).toEqual(logSettings(without));
    }),
  );
});

describe("REQ-D22: every key says which direction widens", () => {
  it.each([...ENTRIES.values()])("$key", ({ option }) => {
    const fitting = {
      flag: [true, false, "any", "never"],
      whole: ["more", "less", "any", "never"],
      decimal: ["more", "less", "any", "never"],
      text: ["any", "never"],
      choice: ["any", "never"],
      list: ["additions", "removals", "roots", "outside", "filter", "any", "never"],
    }[option.kind.is] as readonly unknown[];
    if (option.kind.is === "choice" && Array.isArray(option.widens)) {
      expect(option.widens.toSorted()).toEqual([...option.kind.values].toSorted());
    } else expect(fitting).toContain(option.widens);
  });

  it("what never widens is a short list that somebody has thought about", () => {
    const never = [...ENTRIES.values()]
      .filter(({ option }) => option.widens === "never")
      .map(({ key }) => key);
    expect(never).toEqual([
      "mcp.config_version",
      "mcp.mode",
      "mcp.hybrid.promoted_tools",
      "mcp.code_execution.enabled",
      "mcp.tools.text_format",
      "mcp.tools.publish_one_of",
      "mcp.rag.default_scope",
      "mcp.rag.watch",
      "mcp.rlm.guest_language",
    ]);
  });
});
