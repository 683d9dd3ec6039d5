import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { ownState } from "../user-state.ts";
import { cleanEnv, launcher } from "../workspace.ts";

interface Ended {
  readonly code: number | null;
  readonly text: string;
}

/** Interrupts a command that has come as far as `isThere` says. */
const interrupted = async (
  args: readonly string[],
  cwd: string,
  isThere: (pid: number) => boolean,
): Promise<Ended> => {
  const child = spawn(launcher, args, { cwd, env: cleanEnv() });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (more: string) => {
      text += more;
    });
  const ended = new Promise<Ended>((done) => {
    child.once("close", (code) => done({ code, text }));
  });
  const isTime = (): boolean => child.exitCode !== null || isThere(child.pid ?? 0);
  await expect.poll(isTime, { interval: 5 }).toBe(true);
  child.kill("SIGINT");
  return ended;
};

/** Whether the event loop of a process waits for its standard input: one of its descriptors lists number 0. */
const waitsForInput = (pid: number): boolean => {
  const folder = `/proc/${pid}/fdinfo`;
  return readdirSync(folder).some((name) => {
    try {
      return /^tfd:\s+0\b/m.test(readFileSync(join(folder, name), "utf8"));
    } catch {
      return false;
    }
  });
};

describe("ctrl-c", () => {
  test("ends a call that waits for its arguments", async () => {
    const args = ["call", "health", "--args", "-"];
    expect(await interrupted(args, tempWorkspace(), waitsForInput)).toEqual({
      code: 7,
      text: "llmc: The call was cancelled.\n",
    });
  });

  test("ends an indexing", async () => {
    const cwd = tempWorkspace();
    mkdirSync(join(cwd, "src"));
    const line = `export const someName = ${JSON.stringify("x".repeat(60))};\n`.repeat(400);
    for (let at = 0; at < 1200; at++)
      writeFileSync(join(cwd, "src", `f${at}.ts`), line.replaceAll("someName", `n${at}`));
    const hasBegun = (): boolean =>
      (statSync(ownState(cwd, "index.db-wal"), { throwIfNoEntry: false })?.size ?? 0) > 0;
    const ended = await interrupted(["index"], cwd, hasBegun);
    expect(ended).toMatchObject({ code: 7, text: expect.stringMatching(/^llmc: .*cancelled/) });
    expect(ended.text).not.toMatch(/^ {4}at /m);
  });
});
