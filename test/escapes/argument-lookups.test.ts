import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createLookupBudget } from "../../src/host/reach/lookup-budget.ts";
import { reachedPath } from "../../src/host/reach/reached-path.ts";
import { openTestApp } from "../app.ts";
import { GIT } from "./command-stand.ts";

const deep = Array.from({ length: 40 }, (_folder, at) => `d${at}`).join("/");

const stand = async () => {
  const app = await openTestApp({
    config: '[mcp]\nmode = "classic"\n',
    files: { "a.txt": "a", "sub/b.txt": "b", ".env": "x" },
  });
  execFileSync(GIT, ["init", "-q", "."], { cwd: app.root });
  mkdirSync(join(app.root, deep), { recursive: true });
  return app;
};

const bundle = (length: number): string => `-${"a".repeat(length)}`;
const repeat = (text: string, times: number): string => Array(times).fill(text).join(" ");
const numbered = (times: number): string =>
  Array.from({ length: times }, (_name, at) => `f${at}.ts`).join(" ");

describe("FAIL-J6 REQ-D16: what is looked up for the arguments of a command line is bounded", () => {
  test.each([
    ["a long bundle, each end of which may be a path", `ls ${bundle(30_000)}`],
    ["the same of another program", `cat ${bundle(30_000)}/../a.txt`],
    ["a bundle of git in a deep folder", `git -C ${deep} log ${bundle(2000)}`],
    ["many arguments of git in a deep folder", `git -C ${deep} log -- ${numbered(990)}`],
    ["many programs, each of which is small enough", `ls ${repeat(`${bundle(1000)}; ls`, 30)}`],
  ])("%s", async (_name, command) => {
    const { ask } = await stand();
    expect(command.length).toBeLessThan(32 * 1024);
    for (const tool of ["run_cmd", "te_run"]) {
      const answer = JSON.stringify(await ask(tool, { command }));
      expect([tool, answer]).toEqual([tool, expect.stringContaining("could stand for more paths")]);
    }
  });

  test("links whose targets go down and up again cost what the kernel does for them", async () => {
    const { root, ask } = await stand();
    // Deeper folders are closed to commands.
    const down = Array(100).fill("d").join("/");
    mkdirSync(join(root, down), { recursive: true });
    const downAndUp = `${down}/${"../".repeat(100)}`;
    for (let at = 0; at < 38; at++) symlinkSync(`${downAndUp.repeat(5)}l${at + 1}`, join(root, `l${at}`));
    writeFileSync(join(root, "l38"), "x");
    expect(JSON.stringify(await ask("run_cmd", { command: "wc l0" }))).toContain(
      "could stand for more paths",
    );
    expect(JSON.stringify(await ask("run_cmd", { command: "wc l37" }))).toContain('"exit_code":0');
  });

  test("what is looked up for a call that has ended is looked up no longer", () => {
    const ended = createLookupBudget(AbortSignal.abort());
    expect(() => reachedPath("/", "some/path", ended)).toThrow(/aborted/);
  });

  test("what people write is far from it", async () => {
    const { ask } = await stand();
    for (const command of [
      `git -C d0/d1/d2/d3/d4 status --short -- ${numbered(900)}; git -C d0 status -- ${numbered(900)}`,
      `ls -d ${repeat("sub/../sub/b.txt", 900)}`,
      `git log -S${"a".repeat(500)} --all`,
      `git check-ignore --no-index '${"a path/of: words=".repeat(1500)}' a.txt`,
      `ls ${bundle(1000)}`,
    ]) {
      const answer = JSON.stringify(await ask("run_cmd", { command }));
      expect(answer).not.toContain("could stand for more paths");
      expect(answer).toContain('"exit_code":');
    }
  });
});
