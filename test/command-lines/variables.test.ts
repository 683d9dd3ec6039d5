import { describe, expect, test } from "vitest";
import { openTestApp } from "../app.ts";

const open = () =>
  openTestApp({
    files: {
      "show.js": "console.log(process.env.FOO ?? 'none')\n",
      "a.txt": "b\na\n",
      Makefile: "all:\n\t@echo mode=$(FOO)\n",
    },
    overrides: { "mcp.mode": "classic", "mcp.tools.run_cmd_allowlist": "node,make,ls,sort,sh,git,npm" },
  });

describe("REQ-D23 FAIL-C4 variables of a line", () => {
  test.each([
    ["FOO=1 node show.js", "1\n"],
    ["FOO='a b' make -s", "mode=a b\n"],
    ["export FOO=2; node show.js && node show.js", "2\n2\n"],
    ["FOO=3; node show.js", "none\n"],
    ["export FOO=4; FOO=5; node show.js", "5\n"],
    ["FOO=6 node show.js; node show.js", "6\nnone\n"],
    ["FOO=6 true; node show.js", "none\n"],
    ["(export FOO=7); node show.js", "none\n"],
    ["LC_ALL=C TZ= sort a.txt", "a\nb\n"],
    ["FILE=a.txt; sort $FILE", "a\nb\n"],
  ])("%s gives %j, as in bash", async (command, stdout) => {
    const app = await open();
    for (const tool of ["run_cmd", "te_run"])
      expect(await app.ask(tool, { command, ...(tool === "te_run" ? { raw: true } : {}) })).toMatchObject({
        structured: { data: { stdout, exit_code: 0 } },
      });
  });

  test("a process that runs on has its variables", async () => {
    const app = await open();
    const result = await app.ask("linux_proc_start", { command: "FOO=1 node show.js", wait_ms: 5000 });
    expect(JSON.stringify(result)).toMatch(/"output":"1(\\r)?\\n/);
  });

  test.each([
    ["FOO=1 ls", "FOO", "ls"],
    ["export FOO=1; true && sort a.txt", "FOO", "sort"],
    ["LC_ALL=/etc/x sort a.txt", "LC_ALL", "sort"],
    ["node show.js | RIPGREP=1 sort", "RIPGREP", "sort"],
    ["FOO=1 git status", "FOO", "git"],
    ["npm_config_script_shell=./x npm ls", "npm_config_script_shell", "npm"],
  ])("%s is refused rather than run without it", async (command, variable, program) => {
    const app = await open();
    for (const tool of ["run_cmd", "te_run", "linux_proc_start"]) {
      const result = await app.ask(tool, { command });
      if (tool === "linux_proc_start" && /[|]|&&/.test(command)) continue;
      expect(result).toMatchObject({ kind: "error", error: { code: "forbidden" } });
      expect(JSON.stringify(result)).toContain(`${program} may not be given the variable ${variable}`);
      expect(JSON.stringify(result)).toContain(`llmc allow ${program}:run`);
    }
  });

  test.each(["NODE_OPTIONS=-v node show.js", "LD_PRELOAD=x node show.js", "PATH=. make"])(
    "%s stays refused to every program",
    async (command) => {
      const app = await open();
      expect(await app.errorCode("run_cmd", { command })).toBe("forbidden");
    },
  );
});

describe("REQ-D23 built-in commands and the null device", () => {
  test.each([
    ["cd d 2>/dev/null && ls", "x.txt\n"],
    ["cd nowhere 2>/dev/null || echo no", "no\n"],
    ["echo c >/dev/null; echo d", "d\n"],
    ["echo c >/dev/null 2>&1 && echo e", "e\n"],
    ["echo c &>/dev/null | sort", ""],
    ["[ -f a.txt ] 2>/dev/null && echo yes", "yes\n"],
    ["true 2>/dev/null && true < /dev/null && pwd > /dev/null; echo f", "f\n"],
  ])("%s gives %j", async (command, stdout) => {
    const app = await openTestApp({ files: { "a.txt": "", "d/x.txt": "" } });
    expect(await app.ask("run_cmd", { command })).toMatchObject({
      structured: { data: { stdout, exit_code: 0 } },
    });
  });
});

describe("REQ-X9 FAIL-J6 what stands before the program of a process", () => {
  test.each([": > log && sh", "true < a.txt; sh", "X=1 > log; sh", "cd . 2>/dev/null && sh"])(
    "%s is refused: its redirection would be lost",
    async (command) => {
      const app = await open();
      const result = await app.ask("linux_proc_start", { command, wait_ms: 0 });
      expect(result).toMatchObject({ kind: "error", error: { code: "invalid_args" } });
    },
  );
});
