import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { addToLists } from "./add-to-list.ts";

const add = (text: string, items: readonly string[], otherwise: readonly string[] = ["ls"]): string =>
  addToLists(text, [{ table: ["mcp", "tools"], name: "list", items, otherwise }]);

const listOf = (text: string): unknown =>
  (parse(text) as { mcp: { tools: { list: unknown } } }).mcp.tools.list;

describe("adding to a list of a TOML file", () => {
  test("several entries share lines where those that are there do", () => {
    const text = "[mcp.tools]\nlist = [\n  'a', 'b',\n  'c',\n]\n";
    expect(add(text, ["npm", "jq"])).toBe(
      "[mcp.tools]\nlist = [\n  'a', 'b',\n  'c',\n  \"npm\", \"jq\",\n]\n",
    );
    const many = Array.from({ length: 40 }, (_, i) => `program-${i}`);
    const added = add(text, many);
    expect(listOf(added)).toEqual(["a", "b", "c", ...many]);
    for (const line of added.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
    expect(added.split("\n").length).toBeLessThan(20);
    expect(add("[mcp.tools]\nlist = [\n  'a',\n  'b',\n]\n", ["npm", "jq"])).toContain(
      '  "npm",\n  "jq",\n]',
    );
  });

  test.each([
    ["an empty file", "", '[mcp.tools]\nlist = ["ls", "npm"]\n'],
    [
      "no such table",
      "[mcp]\nmode = 'hybrid'\n",
      '[mcp]\nmode = \'hybrid\'\n\n[mcp.tools]\nlist = ["ls", "npm"]\n',
    ],
    [
      "the table without the key",
      "[mcp.tools] # mine\n# why\nother = 1 # one\n\n[mcp.rag]\ntop_k = 3\n",
      '[mcp.tools] # mine\n# why\nother = 1 # one\nlist = ["ls", "npm"]\n\n[mcp.rag]\ntop_k = 3\n',
    ],
    ["an empty table", "[mcp.tools]\n#x = 1\n", '[mcp.tools]\nlist = ["ls", "npm"]\n#x = 1\n'],
    [
      "a table with the key commented out, below its description",
      "[mcp.tools]\nother = 1\n# What.\n#list = [\n#  'a',\n#]\n# Else.\n#more = 2\n\n[mcp.rag]\n#list = []\n",
      '[mcp.tools]\nother = 1\n# What.\n#list = [\n#  \'a\',\n#]\nlist = ["ls", "npm"]\n# Else.\n#more = 2\n\n[mcp.rag]\n#list = []\n',
    ],
    [
      "the same with CRLF",
      "[mcp.tools]\r\n#list = [\r\n#  'a',\r\n#]\r\n# Else.\r\n",
      '[mcp.tools]\r\n#list = [\r\n#  \'a\',\r\n#]\r\nlist = ["ls", "npm"]\r\n# Else.\r\n',
    ],
    ["an empty list", "[mcp.tools]\nlist = [] # none\n", '[mcp.tools]\nlist = ["npm"] # none\n'],
    [
      "a list on one line",
      "[mcp.tools]\nlist = ['a', 'b'] # two\n",
      "[mcp.tools]\nlist = ['a', 'b', \"npm\"] # two\n",
    ],
    [
      "a list on several lines with a last comma",
      "[mcp.tools]\nlist = [\n  'a', # first\n  'b', # second\n]\n",
      "[mcp.tools]\nlist = [\n  'a', # first\n  'b', # second\n  \"npm\",\n]\n",
    ],
    [
      "a list on several lines without one",
      "[mcp.tools]\nlist = [\n\t'a', # first\n\t'b' # second\n]\n",
      "[mcp.tools]\nlist = [\n\t'a', # first\n\t'b', # second\n\t\"npm\"\n]\n",
    ],
    [
      "a bracket behind the last",
      "[mcp.tools]\nlist = ['a',\n  'b']\n",
      "[mcp.tools]\nlist = ['a',\n  'b', \"npm\"]\n",
    ],
    ["dotted keys", "mcp.tools.other = 1\n", 'mcp.tools.other = 1\nmcp.tools.list = ["ls", "npm"]\n'],
    [
      "dotted keys in a table",
      "[mcp]\ntools.other = 1\n",
      '[mcp]\ntools.other = 1\ntools.list = ["ls", "npm"]\n',
    ],
    [
      "an inline table",
      "[mcp]\ntools = { other = 1 }\n",
      '[mcp]\ntools = { other = 1, list = ["ls", "npm"] }\n',
    ],
    ["no newline at the end", "[mcp.tools]\nlist = ['a']", "[mcp.tools]\nlist = ['a', \"npm\"]"],
    ["CRLF", "[mcp.tools]\r\nother = 1\r\n", '[mcp.tools]\r\nother = 1\r\nlist = ["ls", "npm"]\r\n'],
  ])("REQ-D15: %s keeps its comments and layout", (_what, before, after) => {
    expect(add(before, ["npm"])).toBe(after);
  });

  test("REQ-D15: what is there is not added again, and several entries come in order", () => {
    const text = "[mcp.tools]\nlist = ['npm']\n";
    expect(add(text, ["npm"])).toBe(text);
    expect(listOf(add("[mcp.tools]\nlist = [\n 'a'\n]\n", ["b", "c", 'quote"d']))).toEqual([
      "a",
      "b",
      "c",
      'quote"d',
    ]);
    expect(listOf(add("", ["x".repeat(60), "y".repeat(60)]))).toHaveLength(3);
  });

  test("REQ-D15: commas in front of entries do no harm", () => {
    expect(listOf(add("[mcp.tools]\nlist = [\n 'a'\n , 'b'\n ,\n]\n", ["npm"]))).toEqual(["a", "b", "npm"]);
  });

  test("REQ-D15: a layout that cannot be edited is refused with what to write by hand", () => {
    expect(() => add("[[mcp.tools]]\nlist = ['a']\n", ["npm"])).toThrow(/cannot edit/);
    try {
      add("mcp.tools = 3\n", ["npm"]);
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({
        code: "invalid_args",
        hint: expect.stringContaining('mcp.tools.list: add ["npm"]'),
      });
    }
  });
});
