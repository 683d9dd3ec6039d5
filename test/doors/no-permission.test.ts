import { spawn } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { launcher } from "../workspace.ts";

/** An ordinary user: for root, folders without permission are open all the same. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const asOrdinary = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

/** Compiled code of all commands of these tests; without it each of them starts as slowly as the first. */
const compiled = join(tmpdir(), `llmc-test-compiled-${process.pid}`);
beforeAll(() => {
  mkdirSync(compiled);
  chmodSync(compiled, 0o777);
});
afterAll(() => rmSync(compiled, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly text: string;
}

interface Options {
  readonly cwd: string;
  readonly home: string;
  /** Called when the program has run for this many milliseconds. */
  readonly interruptAfterMs?: number;
}

const llmc = (args: readonly string[], { cwd, home, interruptAfterMs }: Options): Promise<Ended> =>
  new Promise((done) => {
    const child = spawn(launcher, args, {
      cwd,
      env: { PATH: process.env["PATH"], HOME: home, NODE_COMPILE_CACHE: compiled },
      ...asOrdinary,
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (more: string) => {
        text += more;
      });
    if (interruptAfterMs === undefined) child.stdin.end();
    else setTimeout(() => child.kill("SIGINT"), interruptAfterMs);
    child.once("close", (code) => done({ code, text }));
  });

/** A folder of the ordinary user, with a mode of its own until the test ends. */
const folderWith = (mode: number, files: Readonly<Record<string, string>> = {}): string => {
  const folder = tempWorkspace(files);
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  chmodSync(folder, mode);
  onTestFinished(() => chmodSync(folder, 0o700));
  return folder;
};

const COMMANDS: readonly (readonly string[])[] = [
  ["init"],
  ["connect", "claude-code", "--yes"],
  ["connect", "codex", "--yes"],
  ["search", "answer"],
  ["index"],
  ["where-used", "answer"],
  ["call", "list_dir"],
  ["call", "linux_fs_write", "--args", '{"path":"x","content":"y"}'],
  ["usage"],
  ["locks"],
  ["tools"],
  ["config", "validate"],
  ["trust", "--yes"],
  ["token"],
  ["doctor"],
  ["serve", "--stdio"],
];

const expectNoTrace = (command: readonly string[], { text }: Ended): void => {
  expect([command, text.match(/^ {4}at .*|unexpected error|UnhandledPromise.*|node:internal.*/m)]).toEqual([
    command,
    null,
  ]);
};

/** All commands, four at a time. */
const tryAll = async (more: readonly string[], options: Options): Promise<void> => {
  for (let at = 0; at < COMMANDS.length; at += 4)
    await Promise.all(
      COMMANDS.slice(at, at + 4).map(async (command) =>
        expectNoTrace(command, await llmc([...command, ...more], options)),
      ),
    );
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
    await tryAll(["--root", cwd], { cwd: "/", home });
  });

  test("init names the file, and the way out", async () => {
    const cwd = folderWith(0o555);
    const { code, text } = await llmc(["init"], { cwd, home: folderWith(0o755) });
    expect(code).toBe(4);
    expect(text).toBe(
      `llmc: ${join(cwd, "llmc.toml")} cannot be written (EACCES).\n      llmc init --print prints it.\n`,
    );
  });

  test("a file that cannot be read", async () => {
    const cwd = folderWith(0o755, { "llmc.toml": "[mcp]\n" });
    chmodSync(join(cwd, "llmc.toml"), 0);
    const home = folderWith(0o755);
    await tryAll([], { cwd, home });
  });
});

describe("ctrl-c", () => {
  test("ends a call that waits for its arguments", async () => {
    const ended = await llmc(["call", "health", "--args", "-"], {
      cwd: folderWith(0o755),
      home: folderWith(0o755),
      interruptAfterMs: 2500,
    });
    expectNoTrace(["call"], ended);
    expect(ended).toEqual({ code: 7, text: "llmc: The call was cancelled.\n" });
  });

  test("ends an indexing", async () => {
    const cwd = folderWith(0o755);
    mkdirSync(join(cwd, "src"));
    const line = `export const someName = ${JSON.stringify("x".repeat(60))};\n`.repeat(400);
    for (let at = 0; at < 1500; at++)
      writeFileSync(join(cwd, "src", `f${at}.ts`), line.replaceAll("someName", `n${at}`));
    const ended = await llmc(["index"], { cwd, home: folderWith(0o755), interruptAfterMs: 2500 });
    expectNoTrace(["index"], ended);
    expect(ended).toMatchObject({ code: 7, text: expect.stringMatching(/^llmc: .*cancelled/) });
  });
});
