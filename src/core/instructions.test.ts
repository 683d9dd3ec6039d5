import { describe, expect, it } from "vitest";
import { openTestApp, TEST_CALLER } from "../../test/app.ts";
import { allTools } from "../tools/all.ts";

const NAMES = allTools.map(({ name }) => name);
const namedIn = (text: string): readonly string[] =>
  NAMES.filter((name) => new RegExp(`\\b${name}\\b`).test(text));

const FORBIDDEN = [
  "rag_search",
  "read_file",
  "list_dir",
  "run_cmd",
  "linux_fs_edit",
  "linux_handle_read",
  "search_tools",
];

describe.each(["classic", "hybrid", "code_execution"])("REQ-I4 REQ-M6: in %s mode", (mode) => {
  it("instructions and 00_INIT name what the caller's list shows, and nothing that policy forbids", async () => {
    const app = await openTestApp({
      files: {
        "p/a.cedar": FORBIDDEN.map(
          (name) => `forbid(principal, action == Action::"${name}", resource);`,
        ).join("\n"),
      },
      config: `[mcp]\nmode = "${mode}"\n[mcp.security]\npolicy_files = ["p/*.cedar"]\n`,
    });
    const listed = app.core.listTools(TEST_CALLER);
    const instructions = app.core.instructions(TEST_CALLER);
    // `stat` is a program, too.
    const named = namedIn(instructions).filter((name) => name !== "stat");
    expect(named).toEqual(listed.map(({ name }) => name).filter((name) => name !== "stat"));
    for (const name of FORBIDDEN) expect(named).not.toContain(name);
    expect(await app.text("00_INIT")).toBe(instructions);
  });

  it("no tool's description or schema names another tool", async () => {
    const app = await openTestApp({ config: `[mcp]\nmode = "${mode}"\n` });
    for (const { name, ...published } of app.core.listTools(TEST_CALLER)) {
      // Others are words of English: stat, health, inspect.
      const others = namedIn(JSON.stringify(published)).filter((one) => one !== name && one.includes("_"));
      expect(others, name).toEqual([]);
    }
  });
});

it("REQ-D21: a hint sends nobody to a tool that policy forbids them", async () => {
  const policy = 'forbid(principal, action == Action::"list_dir", resource);';
  const open = (files: Readonly<Record<string, string>>) =>
    openTestApp({ files, config: '[mcp]\nmode = "classic"\n[mcp.security]\npolicy_files = ["p/*.cedar"]\n' });
  const hints = async (files: Readonly<Record<string, string>>): Promise<string> => {
    const app = await open(files);
    const failed = await app.ask("read_file", { path: "." });
    return JSON.stringify(failed);
  };
  expect(await hints({ "p/a.cedar": policy })).not.toContain("list_dir");
});
