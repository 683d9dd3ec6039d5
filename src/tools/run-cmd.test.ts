import { existsSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp, tempWorkspace } from "../../test/app.ts";

describe("run_cmd", () => {
  test("git without a repository: the answer says so, and what the name in git's message is", async () => {
    const app = await openTestApp({ files: { "a.txt": "x" } });
    expect(await app.text("run_cmd", { command: "git status" })).toContain(
      "there is no git repository that llmc recognises in this folder",
    );
    expect(await app.text("run_cmd", { command: "git --version" })).not.toContain("repository");
  });

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
    ["for f in *; do cat $f; done", "a for loop needs one (for f in *; do cat $f; done). Name all files"],
    ["history", "history needs one. Leave it out."],
    ["[[ -f a && -d b ]]", "this test in double brackets needs one ([[ -f a && -d b ]]). One test"],
  ])("REQ-D23: in the refusal of %s, the line and the way out are apart", async (command, text) => {
    const app = await openTestApp({ files: { "a.txt": "x" } });
    expect(await app.ask("run_cmd", { command })).toMatchObject({
      body: { error: expect.stringContaining(text) },
    });
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

  test.each([
    ["for f in *; do echo $f; done", "Or give the whole line to bash, which is allowed: bash -c '…'."],
    ["echo $(ls)", "bash -c '…'."],
    ["source .venv/bin/activate && pip list", "llmc allow .venv/bin/python."],
    [". ./venv/bin/activate", "as in ./venv/bin/python;"],
  ])("REQ-D23: %s is refused with a way that works", async (command, hint) => {
    const app = await openTestApp({ overrides: { "mcp.tools.run_cmd_allowlist": "ls,/bin/bash" } });
    expect(JSON.stringify(await app.ask("run_cmd", { command }))).toContain(hint);
    const without = await openTestApp({ overrides: { "mcp.tools.run_cmd_allowlist": "ls" } });
    const refused = await without.ask("run_cmd", { command });
    expect(refused.kind).toBe("error");
    expect(JSON.stringify(refused)).not.toContain("bash");
    expect(await app.text("run_cmd", { command: "bash -c 'for f in 1 2; do echo $f; done'" })).toBe("1\n2");
  });

  test("REQ-D23 REQ-X11: pipes, lists, cd, globs, variables and redirections work, and meta has each exit code", async () => {
    const app = await openTestApp({
      files: { "a.txt": "one\ntwo\n", "d/b.txt": "three\n", "d/-n": "dash\n", "out/x": "" },
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

  test.each([
    ["PYTHONPATH=src ls", "-o pythonpath=FOLDER"],
    ["NODE_OPTIONS=--inspect ls", "node --max-old-space-size=4096 FILE"],
    ["LD_PRELOAD=x ls", "leave it out"],
  ])("FAIL-C1 REQ-D23: %s is refused, and the answer says what works", async (command, wayOut) => {
    const app = await openTestApp({ files: { "a.txt": "x" } });
    const refused = JSON.stringify(await app.ask("run_cmd", { command }));
    expect(refused).toContain("cannot be set for a command");
    expect(refused).toContain(wayOut);
  });

  test.each([
    ["dies of it", "head -c 3000000 /dev/zero > big"],
    ["goes on and fails", "trap '' XFSZ; head -c 3000000 /dev/zero > big"],
  ])("REQ-D18: a program that writes too large a file and %s is told the limit", async (_how, script) => {
    const app = await openTestApp({
      overrides: { "mcp.tools.run_cmd_allowlist": "/bin/bash", "mcp.tools.command_file_mb": "1" },
    });
    const text = await app.text("run_cmd", { command: `bash -c "${script}"` });
    expect(text).toMatch(/\[exit (1|153); over the file size limit \(mcp\.tools\.command_file_mb\)/);
    expect(statSync(join(app.root, "big")).size).toBe(1024 * 1024);
    expect(await app.text("run_cmd", { command: "bash -c 'exit 1'" })).toBe("[exit 1]");
  });

  test("FAIL-A10: a pattern that meets a withheld file is refused with a way out that works", async () => {
    const app = await openTestApp({ files: { "src/a.ts": "1\n", "src/token.json": "{}" } });
    expect(await app.ask("run_cmd", { command: "cat src/*" })).toMatchObject({
      body: { error: expect.stringMatching(/"src\/token\.json" is on the denylist .*narrower pattern/) },
    });
    expect(await app.text("run_cmd", { command: "cat src/*.ts" })).toBe("1");
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

  test("REQ-D2: what is not there is named as it lies in the workspace, not on the machine", async () => {
    const app = await openTestApp({ files: { "src/a.txt": "a\n" } });
    const messageFor = async (args: object): Promise<unknown> => {
      const result = await app.ask("run_cmd", args);
      return result.kind === "error" ? result.error.message : result.kind;
    };
    expect(await messageFor({ command: "ls", cwd: "nope" })).toBe('There is nothing at "nope".');
    expect(await messageFor({ command: "cat < nope.txt", cwd: "src" })).toBe(
      'There is nothing at "src/nope.txt".',
    );
    expect(await app.text("run_cmd", { command: "cat < a.txt", cwd: "src" })).toContain("a");
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
    expect(await app.text("run_cmd", { command: "sleep 60", timeout: 1 })).toBe(
      "[stopped after 1 s, as asked; call again with timeout, up to 600 s, for more]",
    );
    expect(performance.now() - startedAt).toBeLessThan(5000);
    const text = await app.text("run_cmd", { command: "cat big.txt" });
    expect(text.length).toBeLessThan(21_000);
    const handle = /all: handle:(h_\w+)\]$/.exec(text)?.[1] ?? "";
    expect(await app.text("read_file", { path: `handle:${handle}`, offset: 19_999, limit: 1 })).toContain(
      "0123456789",
    );
  });

  test("REQ-D18: a deadline says its limit and the key that raises it, to the model and to programs", async () => {
    const app = await openTestApp({
      overrides: {
        "mcp.tools.run_cmd_allowlist": "sleep",
        "mcp.tools.exec_timeout": "1",
        "mcp.tools.max_exec_timeout": "1",
      },
    });
    const result = await app.ask("run_cmd", { command: "sleep 60" });
    expect(result).toMatchObject({
      structured: {
        data: { exit_code: 124 },
        meta: { timed_out: true, hint: expect.stringContaining("limit of mcp.tools.max_exec_timeout") },
      },
      content: [
        { text: expect.stringMatching(/^\[stopped after 1 s, the limit of mcp\.tools\.max_exec_timeout/) },
      ],
    });
    expect(await app.text("run_cmd", { command: "sleep 0", timeout: 700 })).toBe(
      "[timeout is at most 1 s (mcp.tools.max_exec_timeout)]",
    );
    const usual = await openTestApp({
      overrides: { "mcp.tools.run_cmd_allowlist": "sleep", "mcp.te.timeout": "1" },
    });
    expect(await usual.text("run_cmd", { command: "sleep 60" })).toBe(
      "[stopped after 1 s (mcp.te.timeout); call again with timeout, up to 600 s, for more]",
    );
  });

  test("REQ-X10: a command that fails for want of a network is told so, and a package manager at once", async () => {
    const server = "require('net').connect(3999, '127.0.0.1')";
    const app = await openTestApp({
      files: {
        "ask.js": server,
        "package.json": "{}",
        "ask.log": "connect ECONNREFUSED 127.0.0.1:3999\n".repeat(50_000),
      },
      overrides: {
        "mcp.tools.run_cmd_allowlist": "node,npm,tail,cat,head",
        "mcp.tools.command_powers": "node:run,npm:run",
      },
    });
    const note = /the network is off.*mcp\.tools\.allow_outbound_network = true/;
    const local = /own, so start the server in the same command/;
    const result = await app.ask("run_cmd", { command: "node ask.js" });
    expect(result).toMatchObject({
      structured: { meta: { hint: expect.stringMatching(local) } },
      content: [{ text: expect.stringMatching(local) }],
    });
    const startedAt = performance.now();
    expect(await app.text("run_cmd", { command: "npm install left-pad" })).toMatch(note);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect(await app.text("run_cmd", { command: "npm install left-pad 2>&1 | tail -5" })).toMatch(note);
    expect(await app.text("run_cmd", { command: "node missing.js" })).not.toMatch(note);
    expect(await app.text("run_cmd", { command: "node ask.js 2>&1 | tail -20" })).toMatch(local);
    expect(await app.text("run_cmd", { command: "node ask.js || echo failed" })).toMatch(local);
    expect(await app.text("run_cmd", { command: "cat ask.log" })).not.toMatch(local);
    expect(await app.text("run_cmd", { command: "cat ask.log | head -1" })).not.toMatch(local);
  }, 60_000);

  test.each([
    "curl -s http://localhost:3999/health",
    "curl -s http://localhost:3999/health | head -3",
    "curl -s http://localhost:3999/health || true",
  ])("REQ-X10: a network program that says nothing: %s", async (command) => {
    const app = await openTestApp({
      overrides: { "mcp.tools.run_cmd_allowlist": "curl,head", "mcp.tools.command_powers": "curl:network" },
    });
    const elsewhere = command.replace("localhost:3999", "example.com");
    expect(await app.text("run_cmd", { command })).toMatch(/start the server in the same command/);
    expect(await app.text("run_cmd", { command: elsewhere })).toMatch(/the network is off/);
    expect(await app.text("run_cmd", { command: "curl --version | head -1" })).not.toMatch(/loopback/);
  });

  test("REQ-T1 REQ-D13: programs get the real output, the model the short form; meta.hint says how to read on", async () => {
    const lines = Array.from(
      { length: 900 },
      (_, i) => `src/file-${i % 9}.ts:${i}: zebra number ${i}\n`,
    ).join("");
    const app = await openTestApp({ files: { "a.txt": lines, "small.txt": "one\n" } });
    const result = await app.ask("run_cmd", { command: "grep -n zebra a.txt" });
    if (result.kind !== "ok") throw new Error(JSON.stringify(result));
    const { data, meta } = result.structured as {
      data: { stdout: string };
      meta: { handle: string; hint: string; truncated: boolean; total_matches: number };
    };
    expect(
      data.stdout.startsWith("1:src/file-0.ts:0: zebra number 0\n2:src/file-1.ts:1: zebra number 1\n"),
    ).toBe(true);
    expect(data.stdout.endsWith("\n")).toBe(true);
    expect(data.stdout.length).toBeGreaterThan(20_000);
    expect(data.stdout.length).toBeLessThanOrEqual(30_000);
    expect(meta).toMatchObject({ truncated: true, total_matches: 900 });
    expect(meta.hint).toBe(
      `Use read_file with path handle:${meta.handle} (offset, limit), or 'te --handle ${meta.handle}', for full results.`,
    );
    const [text] = result.content.map((block) => (block.type === "text" ? block.text : ""));
    expect(text).toMatch(/^\[900 matches\]\n/);
    expect(text).toContain(`[cut; all: handle:${meta.handle}]`);
    expect(await app.text("run_cmd", { command: `te --handle ${meta.handle}` })).toContain(
      "1:src/file-0.ts:0:",
    );
    const small = await app.ask("run_cmd", { command: "cat small.txt" });
    expect(small).toMatchObject({ structured: { data: { stdout: "one\n" }, meta: { handle: null } } });
    expect(JSON.stringify(small)).not.toContain("hint");
  });

  test("REQ-D16: what is read-only to commands is told to be, with the tool that changes it", async () => {
    const app = await openTestApp({
      files: {
        "sub/.git/HEAD": "ref: refs/heads/main\n",
        ".github/workflows/ci.yml": "on: push\n",
        "a.yml": "",
      },
      overrides: { "mcp.mode": "classic", "mcp.tools.run_cmd_allowlist": "rm,mv,cat" },
    });
    const { structured } = (await app.ask("run_cmd", { command: "cat a.yml" })) as {
      structured: { meta: { tier: string } };
    };
    // Elsewhere the system refuses in other words, or not at all.
    const commands =
      structured.meta.tier === "bubblewrap"
        ? ["rm -rf sub", "mv -f a.yml .github/workflows/ci.yml", "rm -rf .github"]
        : [];
    for (const command of commands)
      expect(await app.text("run_cmd", { command })).toContain(
        "; commands cannot change what git, editors, shells or CI obey",
      );
    expect(await app.text("run_cmd", { command: "cat nope" })).not.toContain("obey");
    await app.text("linux_fs_delete", { path: "sub", recursive: true });
    expect(existsSync(join(app.root, "sub"))).toBe(false);
  });

  test("REQ-D16: a path outside of what commands see is told to be one; a pattern that looks like one is not", async () => {
    const app = await openTestApp({ files: { "a.txt": "x" } });
    for (const path of ["/etc/resolv.conf", "../../etc/hostname", "../its-neighbour/x.js"])
      for (const tail of ["", " 2>&1 | head -3"])
        expect(await app.text("run_cmd", { command: `cat ${path}${tail}` }), tail).toContain(
          `"${path}" lies outside of what commands see`,
        );
    expect(await app.text("run_cmd", { command: "grep /api/v1 a.txt" })).toBe("[exit 1]");
    expect(await app.text("run_cmd", { command: "cat nope.txt" })).not.toContain("outside");
  });

  test("REQ-D16: a folder above a root is told to be one, because only the way to the root is in it", async () => {
    const app = await openTestApp({
      files: { "a.txt": "x/y", "sub/b.txt": "" },
      overrides: { "mcp.tools.run_cmd_allowlist": "ls,find,stat,cut,cat" },
    });
    for (const command of ["ls ..", "ls ../..", "find .. -maxdepth 1", "stat sub/../.."])
      expect(await app.text("run_cmd", { command }), command).toContain("lies above the roots");
    for (const command of ["cat sub/../a.txt", "cut -d / -f 1 a.txt", `ls ${app.root}`, "ls sub/.."])
      expect(await app.text("run_cmd", { command }), command).not.toContain("above");
  });

  test("REQ-X10: who writes to /tmp, or looks for what another program wrote there, is told whose it is", async () => {
    const app = await openTestApp({
      files: { "a.txt": "x" },
      overrides: { "mcp.tools.run_cmd_allowlist": "node,cat,ls,grep" },
    });
    const { structured } = (await app.ask("run_cmd", { command: "ls" })) as {
      structured: { meta: { tier: string } };
    };
    // Elsewhere /tmp is the machine's, and closed to commands or not.
    if (structured.meta.tier !== "bubblewrap") return;
    const note = "each program has a /tmp of its own, which is gone when it ends";
    const write = `node -e 'require("fs").writeFileSync("/tmp/llmc-a", "x")'`;
    for (const command of [write, `${write} && cat /tmp/llmc-a`, "cat /tmp/llmc-a"])
      expect(await app.text("run_cmd", { command }), command).toContain(note);
    for (const command of ["grep /tmp/x a.txt", "ls", "node -p 1", `cat ${app.root}/a.txt`])
      expect(await app.text("run_cmd", { command }), command).not.toContain(note);
  });

  test("REQ-D16: what a command could not write is named with the reason that is its own", async () => {
    const build = 'require("fs").writeFileSync(".env", "A=1"); console.log("built")';
    const app = await openTestApp({
      files: {
        "packages/app/build.js": build,
        "toml.js": build.replace(".env", "llmc.toml"),
        "llmc.toml": "",
      },
      overrides: { "mcp.tools.run_cmd_allowlist": "node" },
    });
    const command = "cd packages/app && node build.js";
    expect(await app.text("run_cmd", { command })).toContain("built");
    const again = await app.text("run_cmd", { command });
    expect(again).toContain('".env" is on the denylist (mcp.tools.denylist_globs)');
    expect(again).not.toContain("git rm");
    const { structured } = (await app.ask("run_cmd", { command: "node toml.js" })) as {
      structured: { meta: { tier: string } };
    };
    if (structured.meta.tier === "plain") return;
    expect(await app.text("run_cmd", { command: "node toml.js" })).toContain(
      '"llmc.toml" is llmc\'s own configuration',
    );
  });

  test("REQ-X3: raw gives the output as it is, to both", async () => {
    const text = Array.from({ length: 300 }, (_, i) => `line ${i} zebra`).join("\n");
    const app = await openTestApp({ files: { "a.txt": text } });
    const result = await app.ask("run_cmd", { command: "grep zebra a.txt", raw: true });
    expect(result).toMatchObject({
      structured: { data: { stdout: `${text}\n` }, meta: { mode: "raw", truncated: false } },
      content: [{ text }],
    });
  });

  test("REQ-X4: ls -la keeps its dates, and is not called cut where nothing is missing", async () => {
    const app = await openTestApp({
      files: Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`file-${i}.txt`, "x".repeat(i)])),
    });
    const text = await app.text("run_cmd", { command: "ls -la" });
    expect(text).toMatch(/^file-7\.txt 7 \w{3} \d{1,2} \d\d:\d\d$/m);
    expect(text).not.toContain("cut");
    expect(text).not.toContain("handle");
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

  test("REQ-M3: a refusal offers a tool that is not listed as one, and names a listed one plainly", async () => {
    const offer = "Or the operator offers linux_proc_start for that: mcp.hybrid.promoted_tools.";
    const plain = "Start what should go on with linux_proc_start.";
    const hybrid = await openTestApp();
    const hint = JSON.stringify(await hybrid.ask("run_cmd", { command: "sleep 9 &" }));
    expect(hint).toContain(offer);
    expect(hint).not.toContain(plain);
    const classic = await openTestApp({ overrides: { "mcp.mode": "classic" } });
    const listed = JSON.stringify(await classic.ask("run_cmd", { command: "sleep 9 &" }));
    expect(listed).toContain(plain);
    expect(listed).not.toContain(offer);
  });

  test("REQ-X4: progress that was written over is left out of the error stream, unless it is raw", async () => {
    const app = await openTestApp({
      files: {
        "a.js": `process.stderr.write("Rebasing (1/1)\\r${" ".repeat(80)}\\rerror: could not apply\\n")`,
      },
      overrides: { "mcp.tools.run_cmd_allowlist": "node", "mcp.tools.command_powers": "node:run" },
    });
    expect(await app.text("run_cmd", { command: "node a.js" })).toBe("[stderr]\nerror: could not apply");
    expect(await app.text("run_cmd", { command: "node a.js", raw: true })).toContain("Rebasing");
  });
});
