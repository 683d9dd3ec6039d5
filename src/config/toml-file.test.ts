import { describe, expect, it } from "vitest";
import { loadText } from "../../test/config-request.ts";
import { readToml } from "./toml-file.ts";

const problemsOf = async (text: string) => (await readToml(text, "llmc.toml", true)).problems;

const CASES: readonly (readonly [name: string, text: string, message: string])[] = [
  [
    "a wrong key in a known table",
    '[mcp.tools]\n\nrun_cmd_allow_list = ["ls"]',
    '3: unknown key "mcp.tools.run_cmd_allow_list"; did you mean "mcp.tools.run_cmd_allowlist"?',
  ],
  [
    "a string for a number",
    '[mcp]\n[mcp.server]\n\nport = "8080"',
    "4: mcp.server.port: expected a whole number from 0 to 65535, got a string",
  ],
  [
    "a number out of bounds",
    "[mcp.server]\nport = 70000",
    "2: mcp.server.port: expected a whole number from 0 to 65535, got 70000",
  ],
  [
    "a decimal number",
    "[mcp.server]\nport = 80.5",
    "2: mcp.server.port: expected a whole number from 0 to 65535, got a decimal number",
  ],
  [
    "a number past 64 bits",
    "mcp.server.port = 99999999999999999999999",
    "1: mcp.server.port: expected a whole number from 0 to 65535, got a far larger one",
  ],
  ["a flag as a string", 'mcp.enabled = "yes"', "1: mcp.enabled: expected true or false, got a string"],
  [
    "a date",
    "mcp.config_version = 2026-01-01",
    "1: mcp.config_version: expected a string, got a date or time",
  ],
  [
    "a choice that is none, without its text",
    'mcp.mode = "hybird"',
    '1: mcp.mode: expected one of "classic", "hybrid", "code_execution", got another string; did you mean "hybrid"?',
  ],
  [
    "a wrong item, at the item's line",
    '[mcp.tools]\nallowed_roots = [\n  ".",\n  "a",\n  7,\n]',
    "5: mcp.tools.allowed_roots: expected a list of strings, got a whole number as item 3",
  ],
  [
    "a string for a list",
    '[mcp.tools]\nallowed_roots = "."',
    "2: mcp.tools.allowed_roots: expected a list of strings, got a string",
  ],
  [
    "a wrong key in an inline table",
    '[mcp]\nmode = "hybrid"\nserver = { host = "x", prot = 1 }',
    '3: unknown key "mcp.server.prot"; did you mean "mcp.server.port"?',
  ],
  [
    "a wrong key in an inline table of several lines",
    '[mcp]\nserver = {\n  host = "x",\n  prot = 1,\n}',
    '4: unknown key "mcp.server.prot"; did you mean "mcp.server.port"?',
  ],
  [
    "a dotted key",
    "\n\nmcp.te.enable = true",
    '3: unknown key "mcp.te.enable"; did you mean "mcp.te.enabled"?',
  ],
  [
    "a dotted key inside a table",
    '[mcp]\nmode = "hybrid"\nrag.top_k = "3"',
    "3: mcp.rag.top_k: expected a whole number from 1 to 50, got a string",
  ],
  [
    "quoted keys",
    '["mcp".\'server\']\n"port" = true',
    "2: mcp.server.port: expected a whole number from 0 to 65535, got a boolean",
  ],
  [
    "a quoted key that only looks like a path",
    '"mcp.tools.allowed_roots" = ["/"]',
    '1: unknown key "\'mcp.tools.allowed_roots\'"; did you mean "mcp.tools.allowed_roots"?',
  ],
  [
    "an unknown table",
    "[mcp]\n\n[mcp.toolz]\na = 1\nb = 2",
    '3: unknown table "mcp.toolz"; did you mean "mcp.tools"?',
  ],
  [
    "a table without its prefix",
    "[server]\nport = 1",
    '1: unknown table "server"; did you mean "mcp.server"?',
  ],
  [
    "an unknown table inside a known one",
    "[mcp.tools.x]",
    '1: unknown table "mcp.tools.x"; did you mean "mcp.tools"?',
  ],
  [
    "an unknown table that nothing is near to",
    "[observatory_of_birds]",
    '1: unknown table "observatory_of_birds"',
  ],
  [
    "a key in the wrong table",
    "[mcp]\nport = 1",
    '2: unknown key "mcp.port"; did you mean "mcp.server.port"?',
  ],
  [
    "a key one table too high",
    "[mcp.linux_ops]\nallowed_roots = []",
    '2: unknown key "mcp.linux_ops.allowed_roots"; did you mean "mcp.linux_ops.roots.allowed_roots"?',
  ],
  ["a value where a table belongs", "mcp.tools = 1", "1: mcp.tools: expected a table, got a whole number"],
  ["a list of tables", "\n[[mcp.tools]]\nread_timeout = 1", "2: mcp.tools: expected a table, got a list"],
  [
    "a table where a value belongs",
    "[mcp.tools.allowed_roots]\nx = 1",
    "1: mcp.tools.allowed_roots: expected a list of strings, got a table",
  ],
  ["a key of the language's own", "__proto__ = 1", '1: unknown key "__proto__"'],
  ["control characters in a key", '"a\\u001b[2J" = 1', "1: unknown key \"'a?[2J'\""],
];

describe("REQ-C4: what a file gets wrong, with its line, its key and the nearest one", () => {
  it.each(CASES)("%s", async (_name, text, message) => {
    expect(await problemsOf(text)).toEqual([`llmc.toml:${message}`]);
  });

  it.each([
    ["a value that is missing", "[mcp]\nmode = ", /^llmc\.toml:2:\d+: invalid value$/],
    ["a string without an end", 'mcp.config_version = "sk-secret\n', /^llmc\.toml:1:\d+: .*string/],
    ["the same key twice", "[mcp]\nenabled = true\nenabled = false", /^llmc\.toml:3:1: .*redefine/],
    ["the same table twice", "[mcp]\n[mcp]", /^llmc\.toml:2:\d+: .*redefine/],
    [
      "a table that is not closed",
      "[mcp]\n[mcp.server\nport = 1",
      /^llmc\.toml:2:\d+: the name of a table is not closed by \]$/,
    ],
    ["words", "this is no toml", /^llmc\.toml:1:\d+: ./],
  ])("a syntax error, with line, column and reason: %s", async (_name, text, message) => {
    const problems = await problemsOf(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(message);
    expect(problems[0]).not.toContain("sk-secret");
  });

  it("never shows a bad value", async () => {
    const secret = "sk-live-0123456789";
    const problems = await problemsOf(
      `[mcp]\nmode = "${secret}"\nenabled = "${secret}"\n[mcp.server]\nport = "${secret}"\n[mcp.auth]\ntoken = "${secret}"\n`,
    );
    expect(problems).toHaveLength(4);
    expect(problems.join("\n")).not.toContain(secret);
  });

  it("reports everything in one run, in the order of the file, with the environment and the flags", async () => {
    const text = '[mcp.tools]\nx = 1\nread_timeout = "1"\n[mcp]\nmode = 3\n[mcp.nothing_like_it]\n';
    const loading = loadText(text, {
      env: { LLMC_MCP_SERVER_PORT: "x", LLMC_MCP_MODES: "hybrid" },
      root: "/w",
      overrides: { "mcp.modus": "x" },
    });
    await expect(loading).rejects.toMatchObject({
      code: "config_invalid",
      details: { problems: 7 },
      message: expect.stringMatching(
        /^llmc\.toml:2: .*\nllmc\.toml:3: .*\nllmc\.toml:5: .*\nllmc\.toml:6: .*\nLLMC_MCP_SERVER_PORT: .*\nenvironment: .*\n--set: .*$/,
      ),
    });
  });

  it("FAIL-D2 refuses what would take a parser gigabytes, and not what only looks like it", async () => {
    const dotted = Array.from({ length: 20_000 }, () => "a").join(".");
    const hidden = `mcp.x = { a = '''b'''', ${dotted} = 1 }`;
    for (const text of [`${dotted} = 1`, `[${dotted}]`, hidden, `"""" = """"""\n${dotted} = 1`])
      expect((await problemsOf(text))[0]).toMatch(/^llmc\.toml:\d+:\d+: a key has more than 16 parts$/);
    expect(await problemsOf(`x = ${"[".repeat(20)}${"]".repeat(20)}`)).toEqual([
      "llmc.toml:1:21: lists or tables are nested more than 16 deep",
    ]);
    const harmless = `${".".repeat(20)}${"[".repeat(20)}`;
    const strings = [
      `"\\"${harmless}"`,
      `'${harmless}'`,
      `"""\n${harmless}\\"""${harmless}""""`,
      `'''\n"${harmless}''''`,
    ];
    expect(await problemsOf(`# ${harmless}\nx = [${strings.join(", ")}]\n`)).toEqual([
      'llmc.toml:2: unknown key "x"',
    ]);
  });

  it("FAIL-D2 explains as many as it shows: thousands of unknown keys hold nobody up", async () => {
    const text = Array.from({ length: 10_000 }, (_, at) => `key${at} = ${at}\n`).join("");
    const startedAt = process.cpuUsage();
    expect(await problemsOf(`[mcp.tools]\nrun_cmd_allow_list = []\n${text}`)).toHaveLength(10_001);
    // Microseconds; with what was meant by each of them it is ten seconds.
    expect(process.cpuUsage(startedAt).user).toBeLessThan(3_000_000);
    const [first] = await problemsOf(`mcp.modes = 1\n${"#".repeat(300_000)}`);
    expect(first).toBe('llmc.toml: unknown key "mcp.modes"; did you mean "mcp.mode"?');
  });

  it("shows twenty problems and counts the rest", async () => {
    const text = Array.from({ length: 25 }, (_, at) => `key${at} = ${at}`).join("\n");
    const loading = loadText(text);
    const message = await loading.then(String, (error: Error) => error.message);
    expect(message.split("\n")).toHaveLength(21);
    expect(message).toMatch(/llmc\.toml:20: unknown key "key19"\n… and 5 more problems$/);
  });
});

describe("FAIL-J6: a small file of a workspace takes no great work", () => {
  const list = (key: string, items: readonly string[]): string => `${key} = ${JSON.stringify(items)}\n`;

  it("a list has a bounded number of items", async () => {
    const roots = (count: number): string =>
      list(
        "mcp.tools.allowed_roots",
        Array.from({ length: count }, (_, i) => `r${i}`),
      );
    expect(await problemsOf(roots(500))).toEqual([]);
    expect(await problemsOf(roots(501))).toEqual([
      "llmc.toml:1: mcp.tools.allowed_roots: expected at most 500 items, got 501",
    ]);
  });

  it("and its globs a bounded number of alternatives", async () => {
    const globs = (count: number): string =>
      list(
        "mcp.tools.denylist_globs",
        Array.from({ length: count }, (_, i) => `q${i}/${"{a,b}".repeat(8)}`),
      );
    expect(await problemsOf(globs(8))).toEqual([]);
    expect(await problemsOf(globs(9))).toEqual([
      "llmc.toml:1: mcp.tools.denylist_globs: expected globs with at most 2048 alternatives in braces, got more",
    ]);
    const nested = list("mcp.tools.denylist_globs", ["{a,{b,c,{d,e}}}", "plain,with}comma{"]);
    expect(await problemsOf(nested)).toEqual([]);
  });
});
