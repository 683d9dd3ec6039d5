import { chmodSync, readFileSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { runLlmc, startLlmc } from "../command-line.ts";

/** An ordinary user's folder, with a mode of its own until the test ends. */
const folderWith = (mode: number, files: Readonly<Record<string, string>> = {}): string => {
  const folder = tempWorkspace(files);
  chmodSync(folder, mode);
  onTestFinished(() => chmodSync(folder, 0o700));
  return folder;
};

const COMMANDS: readonly (readonly string[])[] = [
  ["init"],
  ["connect", "claude-code", "--yes"],
  ["connect", "codex", "--yes"],
  ["connect", "vscode", "--scope", "project", "--yes"],
  ["allow", "env", "--yes"],
  ["search", "answer"],
  ["index"],
  ["where-used", "answer"],
  ["call", "list_dir"],
  ["call", "linux_fs_write", "--args", '{"path":"x","content":"y"}'],
  ["usage"],
  ["locks"],
  ["quarantine"],
  ["tools"],
  ["config", "validate"],
  ["trust", "--yes"],
  ["token"],
  ["doctor"],
  ["serve", "--stdio"],
];

/** All commands; the server, which takes stdin and stdout for itself, in a process of its own. */
const tryAll = async (more: readonly string[], cwd: string, home: string): Promise<void> => {
  for (const command of COMMANDS) {
    const run = command[0] === "serve" ? startLlmc : runLlmc;
    const { out, err } = await run(cwd, [...command, ...more], { env: { HOME: home } });
    const trace = /^ {4}at .*|unexpected error|UnhandledPromise.*|node:internal.*/m.exec(`${out}\n${err}`);
    expect([command, trace]).toEqual([command, null]);
  }
};

describe("without permission, a command ends with a sentence", () => {
  test.each([
    ["a workspace that is read-only", 0o555, 0o755],
    ["a home that is read-only", 0o755, 0o555],
    ["a workspace that cannot be read", 0o000, 0o755],
    ["neither", 0o555, 0o555],
  ])("%s", async (_name, workspaceMode, homeMode) => {
    const cwd = folderWith(workspaceMode, { "a.ts": "export const answer = 42;\n" });
    const home = folderWith(homeMode);
    await tryAll(["--root", cwd], "/", home);
  });

  test("links that lead to nothing, where folders and files should be", async () => {
    const cwd = tempWorkspace({ "a.ts": "export const answer = 42;\n" });
    const home = tempWorkspace();
    for (const name of [".vscode", ".llmc", ".mcp.json"]) symlinkSync("nowhere", join(cwd, name));
    for (const name of [".local", ".config", ".codex", ".claude.json"])
      symlinkSync("nowhere", join(home, name));
    await tryAll(["--root", cwd], "/", home);
    const connect = ["connect", "vscode", "--scope", "project", "--yes"];
    const { code, err } = await runLlmc(cwd, connect, { env: { HOME: home } });
    expect(code).not.toBe(0);
    expect(err).toContain(`${join(cwd, ".vscode/mcp.json")} lies behind a link that leads to nothing.`);
    expect(err).toContain("--print");
  });

  test("FAIL-D7 REQ-O5: a workspace without a place for the audit trail: doctor and calls name the way out", async () => {
    const cwd = folderWith(0o555, { "a.txt": "hello" });
    const env = { HOME: folderWith(0o755) };
    const unaudited = ["--set", "mcp.audit.unaudited_reads=true"];
    const read = ["call", "read_file", "--args", '{"path":"a.txt"}'];
    const doctor = await runLlmc(cwd, ["doctor"], { env });
    expect(doctor.code).toBe(9);
    expect(doctor.out).toMatch(/BAD +audit trail +\.llmc\/audit cannot be written: every call is refused/);
    expect(doctor.out).toContain("mcp.audit.unaudited_reads = true");
    expect((await runLlmc(cwd, read, { env })).err).toContain("mcp.audit.unaudited_reads = true");
    expect((await runLlmc(cwd, [...read, ...unaudited], { env })).out).toContain("hello");
    const lenient = await runLlmc(cwd, ["doctor", ...unaudited], { env });
    expect(lenient).toMatchObject({
      code: 0,
      out: expect.stringMatching(/weak +audit trail .*not recorded/),
    });
    const home = folderWith(0o755);
    const keeping = { XDG_STATE_HOME: home };
    await runLlmc(tempWorkspace(), ["doctor"], { env: { HOME: home, ...keeping } });
    chmodSync(join(home, "llmc"), 0o500);
    const closed = await runLlmc(tempWorkspace(), ["doctor"], { env: { HOME: home, ...keeping } });
    chmodSync(join(home, "llmc"), 0o700);
    expect(closed.out).toContain(`${join(home, "llmc")} cannot be written: every call is refused`);
    const off = await runLlmc(cwd, ["doctor", "--set", "mcp.audit.enabled=false"], { env });
    expect(off).toMatchObject({ code: 0, out: expect.stringContaining("state and writes will fail") });
  });

  test("REQ-F2 REQ-D16: folders on PATH that this user may not enter do not keep files from being changed", async () => {
    const cwd = folderWith(0o755, { "a.txt": "hello\n" });
    const closed = folderWith(0o000);
    const circle = join(folderWith(0o755), "circle");
    symlinkSync(circle, circle);
    const env = {
      HOME: folderWith(0o755),
      PATH: [join(closed, "bin"), circle, process.env["PATH"]].join(delimiter),
    };
    const args = JSON.stringify({ path: "a.txt", old_text: "hello", new_text: "bye" });
    const { code, err } = await startLlmc(cwd, ["call", "linux_fs_edit", "--args", args], { env });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(readFileSync(join(cwd, "a.txt"), "utf8")).toBe("bye\n");
  });

  test("init names the file, and the way out", async () => {
    const cwd = folderWith(0o555);
    const { code, err } = await runLlmc(cwd, ["init"], { env: { HOME: folderWith(0o755) } });
    expect(code).toBe(4);
    expect(err).toBe(
      `llmc: ${join(cwd, "llmc.toml")} cannot be written (EACCES).\n      llmc init --print prints it.\n`,
    );
  });

  test("a file that cannot be read", async () => {
    const cwd = folderWith(0o755, { "llmc.toml": "[mcp]\n" });
    chmodSync(join(cwd, "llmc.toml"), 0);
    const home = folderWith(0o755);
    await tryAll([], cwd, home);
  });
});
