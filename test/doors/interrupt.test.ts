import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { cleanEnv, launcher } from "../workspace.ts";

interface Ended {
  readonly code: number | null;
  readonly text: string;
}

/** Interrupts a command that has run for a while. */
const interrupted = (args: readonly string[], cwd: string): Promise<Ended> =>
  new Promise((done) => {
    const child = spawn(launcher, args, { cwd, env: cleanEnv() });
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (more: string) => {
        text += more;
      });
    setTimeout(() => child.kill("SIGINT"), 2500);
    child.once("close", (code) => done({ code, text }));
  });

describe("ctrl-c", () => {
  test("ends a call that waits for its arguments", async () => {
    expect(await interrupted(["call", "health", "--args", "-"], tempWorkspace())).toEqual({
      code: 7,
      text: "llmc: The call was cancelled.\n",
    });
  });

  test("ends an indexing", async () => {
    const cwd = tempWorkspace();
    mkdirSync(join(cwd, "src"));
    const line = `export const someName = ${JSON.stringify("x".repeat(60))};\n`.repeat(400);
    for (let at = 0; at < 1500; at++)
      writeFileSync(join(cwd, "src", `f${at}.ts`), line.replaceAll("someName", `n${at}`));
    const ended = await interrupted(["index"], cwd);
    expect(ended).toMatchObject({ code: 7, text: expect.stringMatching(/^llmc: .*cancelled/) });
    expect(ended.text).not.toMatch(/^ {4}at /m);
  });
});
