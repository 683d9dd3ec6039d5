import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp, TEST_CALLER, type TestApp } from "../app.ts";
import { askSocket, BOB, initialize, openSocket, openTokenDoor, postMcp } from "../doors/two-tokens.ts";

const CONFIG = `[mcp]
mode = "classic"
[mcp.tools]
run_cmd_allowlist = ["cat", "ls", "sleep"]
`;

const FILES = { "a.txt": "content of a\n", "sub/b.txt": "b\n" };

const TOOLS = ["run_cmd", "te_run", "linux_proc_start"] as const;

const attempt = async (app: TestApp, tool: string, command: string, scopes: string): Promise<string> => {
  const caller = { ...TEST_CALLER, may: new Set(scopes.split(",")) };
  const result = await app.ask(tool, { command }, { caller });
  if (result.kind === "error") return result.error.code;
  if (result.kind !== "ok") return result.kind;
  const { data } = result.structured as { data?: { exit_code: number; stderr: string } };
  return data === undefined || data.exit_code === 0 ? "done" : data.stderr;
};

const WRITES = [
  "echo x > new.txt",
  "cat a.txt >> a.txt",
  "cat a.txt &> sub/b.txt",
  "true && echo x 2> new.txt",
];
const READS = [
  "cat < a.txt",
  "cat *.txt",
  "ls sub/*",
  "cd sub && cat < b.txt",
  "[ -e a.txt ] && cat a.txt",
  "test -s a.txt && cat a.txt",
  "[ ! -d nowhere ] && cat a.txt",
  "cd sub && cat b.txt",
];

describe("REQ-D25 REQ-D23 FAIL-J7 redirections and globs need the caller's own scopes", () => {
  test.each(TOOLS)("%s", async (tool) => {
    const app = await openTestApp({ config: CONFIG, files: FILES });
    const before = readdirSync(app.root).toSorted();
    // A process that runs on has no redirections, whoever starts it.
    const refusal = tool === "linux_proc_start" ? /invalid_args|forbidden/ : /forbidden/;
    for (const command of WRITES)
      for (const scopes of ["execute", "read,execute"])
        expect(await attempt(app, tool, command, scopes), `${command} by ${scopes}`).toMatch(refusal);
    for (const command of READS)
      for (const scopes of ["execute", "write,execute"])
        expect(await attempt(app, tool, command, scopes), `${command} by ${scopes}`).toMatch(refusal);
    expect(readdirSync(app.root).filter((name) => name !== ".llmc")).toEqual(
      before.filter((name) => name !== ".llmc"),
    );
    expect(readFileSync(join(app.root, "a.txt"), "utf8")).toBe(FILES["a.txt"]);
    expect(readFileSync(join(app.root, "sub/b.txt"), "utf8")).toBe(FILES["sub/b.txt"]);
    expect(await attempt(app, tool, "cat *.txt", "read,execute")).toBe("done");
    expect(await attempt(app, tool, "cat a.txt", "execute")).toBe("done");
    expect(await attempt(app, tool, "[ a = a ] && cat a.txt", "execute")).toBe("done");
    if (tool === "linux_proc_start") return;
    for (const command of READS)
      expect(await attempt(app, tool, command, "read,execute"), command).toBe("done");
    for (const command of WRITES)
      expect(await attempt(app, tool, command, "write,execute"), command).toBe("done");
  });

  test("FAIL-J4 what is withheld is not readable for test either", async () => {
    const app = await openTestApp({ config: CONFIG, files: { ...FILES, ".env": "KEY=1\n" } });
    const answers = async (line: string): Promise<string> => attempt(app, "run_cmd", line, "read,execute");
    expect(
      await answers("[ -e .env ] && ! [ -r .env ] && [ -r a.txt ] && [ -r sub ] && ! [ -x a.txt ]"),
    ).toBe("done");
    expect(await answers("[ -r .env ]")).not.toBe("done");
  });

  test("a start-up file is written by a file tool, never by a redirection", async () => {
    const app = await openTestApp({ config: CONFIG, files: { ...FILES, ".vscode/tasks.json": "{}" } });
    for (const target of [".envrc", ".vscode/tasks.json", "sub/.idea/run.xml", ".github/workflows/ci.yml"])
      for (const operator of [">", ">>", "2>", "&>"]) {
        const result = await app.ask("run_cmd", { command: `echo x ${operator} ${target}` });
        expect(result).toMatchObject({ kind: "error", error: { code: "path_denied" } });
        expect(JSON.stringify(result)).toContain("linux_fs_write");
      }
    expect(readFileSync(join(app.root, ".vscode/tasks.json"), "utf8")).toBe("{}");
    expect(existsSync(join(app.root, ".envrc"))).toBe(false);
    expect(await app.ask("linux_fs_write", { path: ".envrc", content: "x\n" })).toMatchObject({ kind: "ok" });
  });

  test("over every door of the server", async () => {
    await using door = await openTokenDoor(
      '[mcp.tools]\nenable_run_cmd = true\nrun_cmd_allowlist = ["cat"]\n',
      FILES,
    );
    await door.setBob("read,execute");
    const args = { command: "echo gone > a.txt" };
    const replies = [JSON.stringify(await door.ask(BOB, "run_cmd", args))];
    const session = await initialize(door, BOB);
    const call = { id: 2, method: "tools/call", params: { name: "run_cmd", arguments: args } };
    replies.push(await (await postMcp(door, BOB, call, { "mcp-session-id": session })).text());
    const { socket } = await openSocket(door, BOB);
    replies.push(JSON.stringify(await askSocket(socket, { id: 3, session_id: "s", name: "run_cmd", args })));
    socket.close();
    for (const one of replies) expect(one).toMatch(/lacks the scope \\*"write/);
    expect(readFileSync(join(door.root, "a.txt"), "utf8")).toBe(FILES["a.txt"]);
  });
});
