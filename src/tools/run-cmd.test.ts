import { existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp, tempWorkspace } from "../../test/app.ts";

describe("run_cmd", () => {
  test("REQ-T1 REQ-X1 REQ-M3: hybrid runs an allowlisted program and gives its output, status and tier", async () => {
    const app = await openTestApp({ files: { "a.txt": "one\ntwo\n", "d/b.txt": "" } });
    expect(await app.ask("run_cmd", { command: "wc -l a.txt" })).toMatchObject({
      structured: {
        data: { stdout: "2 a.txt\n", stderr: "", exit_code: 0 },
        meta: {
          tier: expect.stringMatching(/bubblewrap|landlock|plain/),
          timed_out: false,
          truncated: false,
        },
      },
    });
    expect(await app.text("run_cmd", { command: "ls", cwd: "d" })).toBe("b.txt");
    expect(await app.text("run_cmd", { command: "grep nothing a.txt" })).toBe("[exit 1]");
    expect(await app.text("run_cmd", { command: "cat nope.txt" })).toMatch(
      /^\[stderr\]\n.*No such file[\s\S]*\[exit 1\]$/,
    );
  });

  test.each([
    "ls; touch hacked",
    "ls && touch hacked",
    "ls || touch hacked",
    "ls | tee hacked",
    "ls `touch hacked`",
    "ls $(touch hacked)",
    'ls "$(touch hacked)"',
    "ls <(touch hacked)",
    "ls & touch hacked",
    "ls\ntouch hacked",
    "(touch hacked)",
    "eval 'touch hacked'",
    "f() { touch hacked; }; f",
    "PATH=. ls",
    "cat < a.txt > .git/hooks/pre-commit",
    "ls > ../hacked",
    "cat < /etc/hostname",
  ])("FAIL-C1 REQ-D23 one refusal refuses the line: %s", async (command) => {
    const app = await openTestApp({ files: { "a.txt": "x", ".git/HEAD": "ref: refs/heads/main\n" } });
    const before = readdirSync(app.root).filter((name) => name !== ".llmc");
    expect((await app.ask("run_cmd", { command })).kind).toBe("error");
    expect(readdirSync(app.root).filter((name) => name !== ".llmc")).toEqual(before);
    expect(existsSync(join(app.root, "../hacked"))).toBe(false);
    expect(existsSync(join(app.root, ".git/hooks"))).toBe(false);
  });

  test("REQ-D23 REQ-X11: pipes, lists, cd, globs, variables and redirections work, and meta has each exit code", async () => {
    const app = await openTestApp({
      files: { "a.txt": "one\ntwo\n", "d/b.txt": "three\n", "d/-n": "dash\n" },
    });
    const result = await app.ask("run_cmd", { command: "cat missing.txt | sort | head -1; cd d && cat *" });
    expect(result).toMatchObject({
      structured: {
        data: { stdout: "dash\nthree\n", exit_code: 0 },
        meta: {
          programs: [
            { name: "cat", exit_code: 1 },
            { name: "sort", exit_code: 0 },
            { name: "head", exit_code: 0 },
            { name: "cat", exit_code: 0 },
          ],
        },
      },
    });
    await app.text("run_cmd", {
      command: "X=a.txt; sort -r < $X > out/sorted.txt 2>&1 && head -1 out/sorted.txt >> a.txt",
    });
    expect(readFileSync(join(app.root, "out/sorted.txt"), "utf8")).toBe("two\none\n");
    expect(readFileSync(join(app.root, "a.txt"), "utf8")).toBe("one\ntwo\ntwo\n");
    expect(await app.text("run_cmd", { command: "cd d && pwd" })).toBe(join(app.root, "d"));
  });

  test("FAIL-C2 FAIL-C6: programs that are not listed, or only look like it, are refused in the same way", async () => {
    const app = await openTestApp({ files: { ls: "#!/bin/sh\necho evil\n", "bin/x": "" } });
    const outside = tempWorkspace({ ls: "#!/bin/sh\necho evil\n" });
    symlinkSync("/bin/sh", join(app.root, "cat"));
    for (const command of [
      "sh -c id",
      "./ls",
      `${outside}/ls`,
      "./cat",
      "python3 --version",
      "wget x",
      "bin/x",
    ]) {
      expect(await app.errorCode("run_cmd", { command })).toBe("forbidden");
    }
    expect(await app.errorCode("run_cmd", { command: "'unbalanced" })).toBe("invalid_args");
  });

  test("FAIL-C3: arguments that give a program power are refused, and the power that is missing is named", async () => {
    const app = await openTestApp({ files: { "a.txt": "b\na\n" } });
    for (const command of [
      "find . -exec id {} +",
      "find . -delete",
      "rg --pre sh x .",
      "sort -o out.txt a.txt",
      "git -c alias.x=!id x",
      "git push",
    ]) {
      const result = await app.ask("run_cmd", { command });
      expect(result).toMatchObject({ body: { meta: { error_code: "forbidden" } } });
    }
    expect(existsSync(join(app.root, "out.txt"))).toBe(false);
    const allowed = await openTestApp({
      files: { "a.txt": "b\na\n" },
      overrides: { "mcp.tools.command_powers": "sort:write" },
    });
    await allowed.text("run_cmd", { command: "sort -o out.txt a.txt" });
    expect(readFileSync(join(allowed.root, "out.txt"), "utf8")).toBe("a\nb\n");
  });

  test("REQ-X2: enable_run_cmd = false removes and refuses it", async () => {
    const app = await openTestApp({ overrides: { "mcp.tools.enable_run_cmd": "false" } });
    expect(app.core.listTools().map(({ name }) => name)).not.toContain("run_cmd");
    expect(await app.errorCode("run_cmd", { command: "ls" })).toBe("unknown_tool");
  });

  test("FAIL-A10: secrets by name are not shown, named outright or met on the way", async () => {
    const app = await openTestApp({
      files: { ".env": "KEY=zebra-secret\n", "deep/id_rsa": "zebra-secret\n", "a.txt": "zebra-plain\n" },
    });
    expect(await app.errorCode("run_cmd", { command: "cat .env" })).toBe("path_denied");
    expect(await app.errorCode("run_cmd", { command: "head --bytes=9 deep/id_rsa" })).toBe("path_denied");
    expect(await app.errorCode("run_cmd", { command: "git show HEAD:.env" })).toBe("path_denied");
    expect(await app.errorCode("run_cmd", { command: "grep -f.env a.txt" })).toBe("path_denied");
    const result = await app.ask("run_cmd", { command: "grep -r zebra ." });
    const text = JSON.stringify(result);
    expect(text).toContain("zebra-plain");
    const { tier } =
      result.kind === "ok" ? (result.structured as { meta: { tier: string } }).meta : { tier: "" };
    if (tier === "bubblewrap") expect(text).not.toContain("zebra-secret");
  });

  test("REQ-D16 FAIL-C4: a command neither reads the state, nor writes the configuration, nor sees the environment", async () => {
    const app = await openTestApp({
      config:
        '[mcp]\nmode = "hybrid"\n[mcp.tools]\nrun_cmd_allowlist = ["sh", "env", "cat"]\ncommand_powers = ["env:run"]\n',
      files: { ".llmc/token": "zebra-token" },
    });
    process.env["ZEBRA_API_KEY"] = "zebra-key";
    const before = readFileSync(join(app.root, "llmc.toml"), "utf8");
    const everything = await app.text("run_cmd", {
      command: "sh -c 'env; cat .llmc/token; echo hacked > llmc.toml; cat /etc/shadow'",
    });
    expect(everything).not.toContain("zebra");
    delete process.env["ZEBRA_API_KEY"];
    expect(readFileSync(join(app.root, "llmc.toml"), "utf8")).toBe(before);
  });

  test("REQ-D18: a command that passes its deadline is ended; one that floods is bounded, with a handle", async () => {
    const app = await openTestApp({
      files: { "big.txt": "0123456789\n".repeat(20_000) },
      overrides: { "mcp.tools.run_cmd_allowlist": "sleep,cat" },
    });
    const startedAt = performance.now();
    expect(await app.text("run_cmd", { command: "sleep 60", timeout: 1 })).toBe("[stopped at its deadline]");
    expect(performance.now() - startedAt).toBeLessThan(5000);
    const text = await app.text("run_cmd", { command: "cat big.txt" });
    expect(text.length).toBeLessThan(21_000);
    const handle = /all: handle:(h_\w+)\]$/.exec(text)?.[1] ?? "";
    expect(await app.text("read_file", { path: `handle:${handle}`, offset: 19_999, limit: 1 })).toContain(
      "0123456789",
    );
  });

  test("REQ-D19: the sandbox can be switched off, is then named plain, and plain paths outside are refused", async () => {
    const app = await openTestApp({
      files: { "a.txt": "x" },
      overrides: { "mcp.tools.command_sandbox": "off" },
    });
    expect(await app.ask("run_cmd", { command: "cat a.txt" })).toMatchObject({
      structured: { data: { stdout: "x" }, meta: { tier: "plain" } },
    });
    expect(await app.errorCode("run_cmd", { command: "cat /etc/hostname" })).toBe("path_denied");
    expect(await app.errorCode("run_cmd", { command: "ls ../.." })).toBe("path_denied");
  });

  test("refusals of the working directory", async () => {
    const app = await openTestApp({ files: { "a.txt": "" } });
    expect(await app.errorCode("run_cmd", { command: "ls", cwd: ".." })).toBe("path_denied");
    expect(await app.errorCode("run_cmd", { command: "ls", cwd: "a.txt" })).toBe("not_a_directory");
    expect(await app.errorCode("run_cmd", { command: "ls", timeout: 0 })).toBe("invalid_args");
  });
});
