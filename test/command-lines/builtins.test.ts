import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp } from "../app.ts";

/** `lnk` leads to `deep/er`, beside which there is an `only.txt` that is not beside `lnk`. */
const open = async () => {
  const app = await openTestApp({
    files: { "a.txt": "x", "b.txt": "", "c.js": "", "deep/only.txt": "", "deep/er/x": "", "deep/sub/y": "" },
  });
  symlinkSync("deep/er", join(app.root, "lnk"));
  mkdirSync(join(app.root, "empty"));
  return app;
};

const PATHS = [
  '""',
  "a.txt",
  "a.txt/",
  "a.txt/.",
  "a.txt/../b.txt",
  "a.txt/b.txt",
  "b.txt",
  "empty",
  "empty/",
  "nowhere",
  "nowhere/../a.txt",
  "lnk",
  "lnk/",
  "lnk/../c.js",
  "lnk/../only.txt",
  ".",
  "deep/er/..",
];

const SAME = [
  ...PATHS.flatMap((path) => ["-e", "-f", "-d", "-s"].map((operator) => `[ ${operator} ${path} ]`)),
  "cd lnk && [ -f ../c.js ]",
  "cd lnk && [ -f ../only.txt ]",
  "cd lnk && cd .. && [ -f c.js ]",
  '[ ! "" -a "" ]',
  "[ ! a -o b ]",
  '[ ! a -a "" ]',
  "[ ! a = b ]",
  "[ ! = x ]",
  "[ ! = ! ]",
  "[ -f = -f ]",
  "[ -f -a x ]",
  "[ ! -f ]",
  "[ ! ]",
  "[ -f ]",
  "[ ]",
  "[ a = a -a b = b -o c = d ]",
  "[ ! -f a.txt -o a = a ]",
  "[ 010 -eq 10 ]",
  "test ! -e nowhere && echo none",
  "cd nowhere/.. && echo there",
  "cd a.txt/.. && echo there",
  "cd a.txt && echo there",
  "cd lnk/../deep && ls",
  "cd deep/er/../sub && ls",
  'cd "" && ls',
  "cd deep && cd - && ls -d deep",
  "pwd -L",
  "printf '%05d|%5d|%-5d|%d' -3 -3 -3 123456789012345678",
  "printf '%d %d' 9007199254740993",
  "printf '%5s|%-5s|%05d' ab cd 7",
];

const REFUSED = [
  "printf %d 010",
  "printf %d 0x10",
  "printf %d 12abc",
  "printf %d 99999999999999999999",
  "printf %d ' 1'",
  "printf %5s é",
  "[ -n \\> -a b ]",
  "[ a -nt b ]",
  "[ a = a -a -f ]",
  "[ -f -a x -a y ]",
  "[ '(' a ')' ]",
  "[ 99999999999999999999 -gt 1 ]",
  "cd -P lnk",
  "pwd -P",
];

describe("REQ-D23 built-in commands answer as bash does, or are refused", () => {
  test("the same output and exit code", async () => {
    const app = await open();
    const differing: unknown[] = [];
    for (const command of SAME) {
      const bash = spawnSync("bash", ["-c", command], { cwd: app.root, encoding: "utf8" });
      const result = await app.ask("run_cmd", { command });
      const ours = result.kind === "ok" ? (result.structured as { data: unknown }).data : result;
      const expected = { stdout: bash.stdout, exit_code: bash.status };
      try {
        expect(ours).toMatchObject(expected);
      } catch {
        differing.push({ command, expected, ours });
      }
    }
    expect(differing).toEqual([]);
  });

  test.each(REFUSED)("%s is refused", async (command) => {
    const app = await open();
    expect(await app.errorCode("run_cmd", { command })).toBe("invalid_args");
  });
});
