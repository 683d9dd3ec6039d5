import { chmodSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp, TEST_CALLER, type TestApp, tempWorkspace } from "../app.ts";
import { runLlmc } from "../command-line.ts";
import { cleanEnv } from "../workspace.ts";

const CONFIG = '[mcp]\nmode = "classic"\n[mcp.tools]\nexecutables = "scripts"\n';

const COUNT = `#!/usr/bin/env python3
# Counts lines.
# llmc-tool: {
#   "description": "Count the lines of a file that match a text.",
#   "input": {
#     "properties": { "path": { "type": "string" }, "text": { "type": "string", "maxLength": 20 } },
#     "required": ["path"]
#   }
# }
# More comments, with a brace: }
import json, sys
args = json.loads(sys.argv[1])
print(sum(args.get("text", "") in line for line in open(args["path"])))
`;

const ECHO = '#!/bin/sh\nfor one in "$@"; do printf "<%s>" "$one"; done\n';
const ECHO_JSON = JSON.stringify({
  name: "say_all",
  description: "Show the arguments.",
  input: { properties: { depth: { type: "integer" }, names: { type: "array", items: { type: "string" } } } },
  arguments: ["-x", "--depth={depth}", "{names}"],
});

const writing = (writes: boolean): string =>
  `#!/bin/sh\n# llmc-tool: {"description": "Write a file.", "writes": ${writes}}\necho made > made-${writes}.txt && echo ok\n`;

const FILES = {
  "a.txt": "one\ntwo\none\n",
  "scripts/count_lines.py": COUNT,
  "scripts/echo.sh": ECHO,
  "scripts/echo.sh.json": ECHO_JSON,
  "scripts/writes.sh": writing(true),
  "scripts/reads.sh": writing(false),
  "scripts/helper.txt": "not executable: data beside the scripts",
};

/** Scripts are executable before the app is opened: trust and listing look at them then. */
const open = async (
  files: Readonly<Record<string, string>>,
  options: Parameters<typeof openTestApp>[0] = {},
  arrange: (root: string) => void = () => {},
): Promise<TestApp> => {
  const app = await openTestApp({ config: CONFIG, ...options, files, trusted: false });
  for (const name of Object.keys(files))
    if (/^scripts\/.*\.(py|sh)$|^scripts\/[^.]+$/.test(name)) chmodSync(join(app.root, name), 0o755);
  arrange(app.root);
  if (options.trusted !== false) await app.trust();
  await app.config.reload();
  await app.core.refresh();
  return app;
};

const names = (app: TestApp): readonly string[] => app.core.listTools().map(({ name }) => name);

describe("REQ-T13 REQ-X9: scripts of a folder become tools", () => {
  test("they are listed with their schemas, called, refused, stubbed, and callable from programs", async () => {
    const app = await open(FILES);
    const added = ["count_lines", "reads", "say_all", "writes"];
    expect(
      names(app)
        .filter((name) => added.includes(name))
        .toSorted(),
    ).toEqual(added);
    const listed = app.core.listTools().find(({ name }) => name === "count_lines");
    expect(listed).toMatchObject({
      description: "Count the lines of a file that match a text.",
      inputSchema: { type: "object", required: ["path"], additionalProperties: false },
    });

    expect(await app.text("count_lines", { path: "a.txt", text: "one" })).toBe("2");
    expect(await app.ask("count_lines", { path: "a.txt" })).toMatchObject({
      kind: "ok",
      structured: { data: { stdout: "3\n", exit_code: 0 }, meta: { tier: expect.any(String) } },
    });
    for (const args of [{}, { path: 1 }, { path: "a.txt", more: 1 }, { path: "a.txt", text: "x".repeat(21) }])
      expect(await app.errorCode("count_lines", args)).toBe("invalid_args");
    expect(await app.text("count_lines", { path: "none.txt" })).toContain("FileNotFoundError");
    expect(await app.text("say_all", { depth: 2, names: ["a b", "$(id)"] })).toBe(
      "<-x><--depth=2><a b><$(id)>",
    );
    expect(await app.text("say_all", {})).toBe("<-x>");
    expect(await app.errorCode("say_all", { names: ["x".repeat(200_000)] })).toBe("invalid_args");

    expect(await app.text("writes")).toBe("ok");
    expect(await app.text("reads")).toContain("Read-only file system");

    const stub = await app.text("search_tools", { query: "count lines of a file that match" });
    expect(stub).toContain("count_lines(");
    const code = "(await tools.count_lines({ path: 'a.txt', text: 'two' })).data.stdout";
    const run = await app.ask("execute_code", { language: "javascript", code });
    expect(run).toMatchObject({ kind: "ok", structured: { data: { result: "1\n" } } });
  });

  test("an input is given only where the caller gave it, also one called like what every object inherits", async () => {
    const text = { type: "string" };
    const described = {
      description: "Show the arguments.",
      input: { properties: { constructor: text, toString: text, path: text }, required: ["path"] },
      arguments: ["--a={constructor}", "{toString}", "--b={__proto__}", "{path}"],
    };
    const app = await open({ "scripts/show.sh": ECHO, "scripts/show.sh.json": JSON.stringify(described) });
    expect(await app.text("show", { path: "p" })).toBe("<p>");
    expect(await app.text("show", { path: "p", constructor: "c", toString: "t" })).toBe("<--a=c><t><p>");
    expect(await app.errorCode("show", { path: "p", constructor: 1 })).toBe("invalid_args");
    expect(await app.errorCode("show", {})).toBe("invalid_args");
  });

  test("FAIL-B2 FAIL-D6: a pattern of a script that backtracks without end is given up, and others are answered", async () => {
    const input = { properties: { text: { type: "string", pattern: "^(a+)+$" } } };
    const app = await open({
      "scripts/slow.sh": `#!/bin/sh\n# llmc-tool: ${JSON.stringify({ description: "Slow.", input })}\necho ran\n`,
    });
    const start = process.cpuUsage();
    const asked = [
      app.errorCode("slow", { text: `${"a".repeat(60)}!` }),
      app.text("linux_fs_list", { path: "." }),
    ];
    expect((await Promise.all(asked))[0]).toBe("invalid_args");
    expect(await app.text("slow", { text: "aaa" })).toContain("ran");
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1000).toBeLessThan(5000);
  });

  test("policy, scopes and the switch for commands hold for them as for any tool", async () => {
    const policy = 'forbid (principal, action == Action::"say_all", resource);';
    const app = await open(
      { ...FILES, "p.cedar": policy },
      { config: `${CONFIG}[mcp.security]\npolicy_files = ["p.cedar"]\n` },
    );
    expect(await app.errorCode("say_all", {})).toBe("forbidden");
    const caller = { ...TEST_CALLER, may: new Set(["read"]) };
    expect(await app.ask("count_lines", { path: "a.txt" }, { caller })).toMatchObject({
      kind: "error",
      error: { code: "forbidden" },
    });
    const program = 'forbid (principal, action, resource == Command::"count_lines.py");';
    writeFileSync(join(app.root, "p.cedar"), program);
    await app.config.reload();
    await expect.poll(() => app.errorCode("count_lines", { path: "a.txt" })).toBe("forbidden");
    // The script by its path is still no program that a line may start.
    expect(await app.errorCode("run_cmd", { command: "scripts/echo.sh a" })).toBe("forbidden");
    const off = await open(FILES, { config: `${CONFIG}enable_run_cmd = false\n` });
    expect(names(off)).not.toContain("count_lines");
  });

  test("hybrid offers those that are promoted; the operator's own folder may lie outside and needs no trust", async () => {
    const folder = tempWorkspace({ "count_lines.py": COUNT });
    chmodSync(join(folder, "count_lines.py"), 0o755);
    const app = await openTestApp({
      files: { "a.txt": "one\n" },
      overrides: { "mcp.tools.executables": folder, "mcp.hybrid.promoted_tools": "count_lines" },
    });
    expect(names(app)).toEqual(["00_INIT", "read_file", "list_dir", "execute_code", "count_lines"]);
    expect(await app.text("count_lines", { path: "a.txt" })).toBe("1");
    // What its author changes is run as it is.
    writeFileSync(join(folder, "count_lines.py"), COUNT.replace("print(", "print('changed', "));
    expect(await app.text("count_lines", { path: "a.txt" })).toBe("changed 1");
  });

  test("a program may be larger than any script: only its beginning is read", async () => {
    const folder = tempWorkspace({ "big.sh": ECHO, "big.sh.json": ECHO_JSON });
    chmodSync(join(folder, "big.sh"), 0o755);
    truncateSync(join(folder, "big.sh"), 64 * 1024 * 1024);
    const app = await openTestApp({ overrides: { "mcp.mode": "classic", "mcp.tools.executables": folder } });
    expect(names(app)).toContain("say_all");
  });
});

describe("REQ-D22 FAIL-J2: a workspace's folder of executables", () => {
  test("nothing of it is a tool before it is trusted, and nobody but the operator writes there", async () => {
    const app = await open(FILES, { trusted: false });
    expect(names(app)).not.toContain("count_lines");
    const planted = { path: "scripts/new.sh", content: writing(true) };
    expect(await app.errorCode("linux_fs_write", planted)).toBe("INVALID_PATH");
    await app.trust();
    await app.config.reload();
    await app.core.refresh();
    expect(names(app)).toContain("count_lines");
    expect(await app.errorCode("linux_fs_write", planted)).toBe("INVALID_PATH");
  });

  test.each([
    [
      "a changed script",
      (root: string) => writeFileSync(join(root, "scripts/echo.sh"), "#!/bin/sh\necho no\n"),
    ],
    ["a changed sidecar", (root: string) => writeFileSync(join(root, "scripts/echo.sh.json"), "{}")],
    ["a new file beside it", (root: string) => writeFileSync(join(root, "scripts/json.py"), "print('evil')")],
    ["a link beside it", (root: string) => symlinkSync("/etc/passwd", join(root, "scripts/json.py"))],
    [
      "a new folder with a file",
      (root: string) => {
        mkdirSync(join(root, "scripts/json"));
        writeFileSync(join(root, "scripts/json/__init__.py"), "print('evil')");
      },
    ],
    ["a removed file", (root: string) => rmSync(join(root, "scripts/helper.txt"))],
  ])("after trust, %s stops all of them until it is trusted again", async (_what, change) => {
    const app = await open(FILES);
    expect(await app.text("say_all")).toBe("<-x>");
    change(app.root);
    expect(["forbidden", "unavailable"]).toContain(await app.errorCode("say_all"));
    await app.config.reload();
    await app.core.refresh();
    expect(names(app)).not.toContain("say_all");
    expect(await app.logs()).toContain("executable left out");
  });

  const described = (more: object): string =>
    `#!/bin/sh\n# llmc-tool: ${JSON.stringify({ description: "x", ...more })}\necho ran\n`;

  test("hostile and broken ones are left out, each with its reason; the others load", async () => {
    const huge = Object.fromEntries(
      Array.from({ length: 400 }, (_, i) => [`property_${i}`, { type: "string" }]),
    );
    const app = await open({
      "scripts/good.sh": described({}),
      "scripts/read_file.sh": described({}),
      "scripts/alias.sh": described({ name: "linux_fs_mkdir" }),
      "scripts/dotted.sh": described({ name: "linux.fs.read" }),
      "scripts/twice.sh": described({ name: "good" }),
      "scripts/huge.sh": described({ input: { properties: huge } }),
      "scripts/far.sh": described({ input: { properties: { a: { $ref: "http://evil.example/s" } } } }),
      "scripts/list.sh": described({ input: { type: "array" } }),
      "scripts/wrong.sh": described({ effect: "read" }),
      "scripts/silent.sh": "#!/bin/sh\necho ran\n",
      "scripts/torn.sh": '#!/bin/sh\n# llmc-tool: {"description": "x"\necho ran\n',
      "scripts/git": described({ name: "my_git" }),
      "scripts/admin.sh": described({ name: "admin_all" }),
    });
    const own = names(app).filter((name) =>
      /good|alias|dotted|huge|far|^list$|wrong|silent|torn|my_git|admin_all/.test(name),
    );
    expect(own).toEqual(["good"]);
    expect(await app.text("read_file", { path: "scripts/silent.sh" })).toContain("echo ran");
    const logs = (await app.logs()).split("\n").filter((line) => line.includes("executable left out"));
    const reasons = Object.fromEntries(
      logs
        .map((line) => JSON.parse(line) as { file: string; reason: string })
        .map(({ file, reason }) => [file, reason]),
    );
    expect(reasons).toMatchObject({
      "read_file.sh": "a tool named read_file exists already",
      "alias.sh": "a tool named linux_fs_mkdir exists already",
      "dotted.sh": expect.stringContaining("letters, digits"),
      "twice.sh": "a tool named good exists already",
      "huge.sh": expect.stringContaining("over"),
      "far.sh": "its input schema refers to another one",
      "list.sh": "its input must be an object",
      "wrong.sh": expect.stringContaining("its description"),
      "silent.sh": expect.stringContaining("has no description"),
      "torn.sh": "its description is not valid JSON",
      git: expect.stringContaining("judged by rules of their own"),
      "admin.sh": expect.stringContaining("admin"),
    });
  });

  test("who writes scripts sees why one is no tool, and that a change waits for trust, wherever they look", async () => {
    const home = tempWorkspace();
    const env = {
      ...cleanEnv(),
      HOME: home,
      XDG_STATE_HOME: join(home, "state"),
      XDG_CONFIG_HOME: join(home, "config"),
    };
    const root = tempWorkspace({
      ...FILES,
      "llmc.toml": CONFIG,
      "scripts/silent.sh": "#!/bin/sh\necho ran\n",
    });
    chmodSync(join(root, "scripts/echo.sh"), 0o755);
    chmodSync(join(root, "scripts/silent.sh"), 0o755);
    await runLlmc(root, ["trust", "--yes"], { env });
    const why = '"silent.sh" is no tool: it has no description';
    expect((await runLlmc(root, ["tools", "--mode", "hybrid"], { env })).err).toContain(why);
    expect((await runLlmc(root, ["doctor"], { env })).out).toContain(why);

    writeFileSync(join(root, "scripts/echo.sh"), `${ECHO}# changed\n`);
    const called = await runLlmc(root, ["call", "say_all"], { env });
    expect(called.err).toContain('"echo.sh" in the folder of executables had different content when');
    expect(called.err).toContain("(llmc trust shows and grants it)");
    expect(called.err).toContain("runs llmc trust: the folder of executables.");
    const listed = await runLlmc(root, ["tools", "--mode", "hybrid"], { env });
    expect(listed.err).toContain("(llmc trust shows and grants it)");
  });

  test("a folder with a link in it cannot be trusted, and llmc trust says so", async () => {
    const home = tempWorkspace();
    const env = {
      ...cleanEnv(),
      HOME: home,
      XDG_STATE_HOME: join(home, "state"),
      XDG_CONFIG_HOME: join(home, "config"),
    };
    const root = tempWorkspace({ ...FILES, "llmc.toml": CONFIG });
    const shown = await runLlmc(root, ["trust", "--yes"], { env });
    expect(shown.out).toContain("scripts that become tools");
    expect(shown.out).toMatch(/[0-9a-f]{12} {2}count_lines\.py/);
    symlinkSync("/etc/passwd", join(root, "scripts/link.sh"));
    expect((await runLlmc(root, ["trust"], { env })).out).toContain(
      'cannot be trusted ("link.sh" is a link)',
    );
  });
});
