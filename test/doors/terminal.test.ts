import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { launcher } from "../workspace.ts";
import { atTerminal, when } from "./at-terminal.ts";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const ESCAPE = "\u001b";

const serve = ["serve", "--http", "--port", "0", "--generate-token"];

describe("REQ-O2 REQ-P1: a start at a terminal is quiet", () => {
  test("over HTTP: the banner and nothing else", async () => {
    const root = tempWorkspace();
    const { shown } = await atTerminal([launcher, ...serve], {
      cwd: root,
      type: when("configure it:", CTRL_C),
    });
    const lines = shown.replaceAll("^C", "").trimEnd().split("\n");
    expect(lines[0]).toMatch(/^llmc \d+\.\d+\.\d+ serves /);
    expect(lines[1]).toMatch(/^ {2}http:\/\/127\.0\.0\.1:\d+\/mcp {3}hybrid mode: 8 tools, \d+ tokens$/);
    expect(lines[2]).toMatch(/^ {2}token: in /);
    // It is typed in another folder.
    expect(shown).toMatch(/^ +\/\S+\/bin\/llmc connect claude-code/m);
    const end = lines.findIndex((line) => line.includes("configure it:"));
    // What follows is about the end, in text.
    for (const line of lines.slice(end + 1).filter((one) => one !== ""))
      expect(line).toMatch(/^\S+ INFO stopping/);
    expect(shown).not.toContain('{"level"');
    expect(shown).not.toMatch(/execute_code|WARN/);
  });

  test("REQ-D21: a file without a mode is told with both prices", async () => {
    const root = tempWorkspace({ "llmc.toml": "[mcp]\n" });
    const { shown } = await atTerminal([launcher, ...serve], {
      cwd: root,
      type: when("configure it:", CTRL_C),
    });
    expect(shown).toMatch(
      /names no mode, so the mode is classic \(\d+ tools, \d+ tokens\); mode = "hybrid".*\(8 tools, \d+ tokens\)/,
    );
  });

  test("over stdio: a banner for whoever typed it", async () => {
    const { shown, code } = await atTerminal([launcher, "serve", "--stdio"], {
      cwd: tempWorkspace(),
      type: when("serves it to people", CTRL_D),
    });
    expect(code).toBe(0);
    expect(shown).toMatch(/^llmc \d+\.\d+\.\d+ waits for an MCP client on stdin/);
    expect(shown).toContain("llmc connect claude-code");
    expect(shown).not.toContain("INFO");
  });
});

describe("questions at a terminal", () => {
  test.each([
    ["ctrl-c", CTRL_C, 7],
    ["the end of the input", CTRL_D, 0],
    ["no", "n\n", 0],
  ])("%s: nothing is written, and nothing is traced", async (_name, keys, code) => {
    const root = tempWorkspace();
    const ran = await atTerminal([launcher, "connect", "claude-code"], {
      cwd: root,
      type: when("[y/N]", keys),
    });
    expect(ran.shown).toMatch(/Nothing was (written|changed)/);
    expect(ran.shown).not.toMatch(/ {4}at |Warning|unsettled/);
    expect(ran.code).toBe(code);
    expect(existsSync(join(root, ".mcp.json"))).toBe(false);
  });

  test("yes: the change is written; NO_COLOR does not take the question away", async () => {
    const root = tempWorkspace();
    const ran = await atTerminal([launcher, "connect", "claude-code"], {
      cwd: root,
      env: { NO_COLOR: "1" },
      type: when("[y/N]", "y\n"),
    });
    expect(ran.code).toBe(0);
    expect(existsSync(join(root, ".mcp.json"))).toBe(true);
  });
});

describe("colours and drawing", () => {
  test("are there at a terminal; NO_COLOR and TERM=dumb are obeyed", async () => {
    const root = tempWorkspace({ "a.ts": "export const answer = 42;\n" });
    const tools = (env: Record<string, string>) => atTerminal([launcher, "tools"], { cwd: root, env });
    expect((await tools({})).shown).toContain(`${ESCAPE}[1m`);
    expect((await tools({ NO_COLOR: "" })).shown).toContain(`${ESCAPE}[1m`);
    expect((await tools({ NO_COLOR: "1" })).shown).not.toContain(ESCAPE);
    expect((await tools({ TERM: "dumb" })).shown).not.toContain(ESCAPE);
  });

  test("REQ-R11: the first search shows a progress bar, except on a dumb terminal", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => [`src/f${at}.ts`, `export const value${at} = ${at};\n`]),
    );
    const search = (env: Record<string, string>) =>
      atTerminal([launcher, "search", "value7"], { cwd: tempWorkspace(files), env });
    const first = await search({});
    expect(first.shown).toMatch(/listing files|indexing/);
    expect(first.shown).toContain("src/f7.ts");
    const dumb = await search({ TERM: "dumb" });
    expect(dumb.shown).not.toContain(ESCAPE);
    expect(dumb.shown).toContain("src/f7.ts");
  });
});
