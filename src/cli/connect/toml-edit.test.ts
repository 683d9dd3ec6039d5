import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { readToml, removeToml, setToml } from "./toml-edit.ts";

const FILE = "/home/u/.codex/config.toml";
const PATH = ["mcp_servers", "llmc"] as const;
const ENTRY = { command: "/bin/llmc", args: ["serve"] };
const TABLE = '[mcp_servers.llmc]\ncommand = "/bin/llmc"\nargs = [ "serve" ]\n';
const set = (text: string, entry: object = ENTRY) => setToml(text, FILE, PATH, entry);
const remove = (text: string) => removeToml(text, FILE, PATH);

describe("TOML settings (REQ-P3)", () => {
  it.each([
    ["nothing at all", "", TABLE],
    ["other settings", 'model = "x" # mine\n', `model = "x" # mine\n\n${TABLE}`],
    ["no newline at the end", "[a]\nb = 1", `[a]\nb = 1\n\n${TABLE}`],
    [
      "an old table between others",
      `# top\n[a] # a\nb = 1\n\n# llmc:\n[mcp_servers.llmc]\ncommand = "old" # why\n\n[z]\n`,
      `# top\n[a] # a\nb = 1\n\n# llmc:\n${TABLE}# why\n\n[z]\n`,
    ],
    [
      "an old table with sub-tables, near and far",
      '[mcp_servers.llmc]\ncommand = "old"\n\n[mcp_servers.llmc.env]\nA = "1"\n\n[z]\ny = 1\n\n["mcp_servers".llmc.tools.x]\nb = 1\n\n[zz]\n',
      `${TABLE}\n[z]\ny = 1\n\n[zz]\n`,
    ],
    ["only a sub-table", '[mcp_servers.llmc.env]\nA = "1"\n', TABLE],
    [
      "an inline table in the holder",
      '[mcp_servers]\n# both\nllmc = { command = "old" }\na = { command = "a" }\n',
      `[mcp_servers]\n# both\na = { command = "a" }\n\n${TABLE}`,
    ],
    [
      "dotted keys at the top, and a table",
      'mcp_servers.a.command = "a"\nx = 1\n',
      `mcp_servers.a.command = "a"\nx = 1\n\n${TABLE}`,
    ],
    ["dotted keys at the top", 'mcp_servers.llmc.command = "old"\nx = 1\n', `x = 1\n\n${TABLE}`],
    [
      "Windows line ends",
      '[mcp_servers.llmc]\r\ncommand = "old"\r\n\r\n[z]\r\n',
      `${TABLE}\n[z]\n`.replaceAll("\n", "\r\n"),
    ],
    ["letters outside the first plane", '# 😀\na = "😀"\n[mcp_servers.llmc]\n', `# 😀\na = "😀"\n${TABLE}`],
  ])("%s", (_title, before, after) => {
    expect(set(before)).toBe(after);
    expect(readToml(after, FILE)).toMatchObject({ mcp_servers: { llmc: ENTRY } });
    expect(set(after)).toBe(after);
  });

  it("writes the environment as a sub-table, and escapes", () => {
    const entry = { command: 'C:\\llmc "1"', args: [], env: { "A B": "x\n" } };
    expect(parse(set("", entry))).toMatchObject({ mcp_servers: { llmc: entry } });
  });

  it.each([
    ["a missing value", "a = 1\nb =\n", 2],
    ["a key given twice", "a = 1\n\na = 2\n", 3],
    ["an open table head", "[a\nb = 1\n", 1],
  ])("refuses %s, naming file and line and quoting nothing", (_title, text, line) => {
    const refusal = expect.objectContaining({
      code: "invalid_args",
      message: `${FILE}:${line}: not valid TOML.`,
      details: { file: FILE, line },
    });
    expect(() => readToml(text, FILE)).toThrowError(refusal);
  });

  it("FAIL-D2 refuses a key that would take a parser gigabytes, to read and to edit", () => {
    const text = `a = 1\n${"a.".repeat(20_000)}a = 1\n`;
    const refusal = expect.objectContaining({
      code: "invalid_args",
      message: `${FILE}:2: a key has more than 16 parts.`,
    });
    expect(() => readToml(text, FILE)).toThrowError(refusal);
    expect(() => set(text)).toThrowError(refusal);
  });

  it("removes tables and sub-tables, and undoes an addition", () => {
    const before = '# c\nmodel = "x"\n\n[mcp_servers.a]\ncommand = "a"\n';
    expect(remove(set(before))).toBe(before);
    expect(remove(set(before, { ...ENTRY, env: { A: "1" } }))).toBe(before);
    expect(remove(before)).toBe(before);
    expect(remove(`${TABLE}\n[z]\n`)).toBe("\n[z]\n");
    expect(remove(`[a]\n\n${TABLE}\n[z]\n`)).toBe("[a]\n\n[z]\n");
  });
});
