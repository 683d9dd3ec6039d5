import { execFileSync, spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import type { EnvelopeDocument } from "../../src/envelope/contract.ts";
import { openTestApp, tempWorkspace, trustWorkspace } from "../app.ts";
import { cleanEnv } from "../workspace.ts";

const launcher = fileURLToPath(new URL("../../bin/te", import.meta.url));

interface Given {
  readonly cwd: string;
  readonly input?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
}

const run = (program: string, args: readonly string[], { cwd, input = "", env = {} }: Given) => {
  const done = spawnSync(program, args, {
    cwd,
    input,
    env: { ...cleanEnv(), LC_ALL: "C", ...env },
    maxBuffer: 1e9,
  });
  return { status: done.status, stdout: done.stdout, stderr: done.stderr, text: done.stdout.toString() };
};

const te = (args: readonly string[], given: Given) => run(launcher, args, given);

/** A workspace in git's eyes alone. */
const repository = (files: Readonly<Record<string, string>> = {}): string => {
  const root = tempWorkspace(files);
  execFileSync("git", ["init", "-q", root]);
  return root;
};

const FILES = {
  "a.txt": "one\nTwo zebra\nthree\n",
  "d/b.txt": "zebra crossing\n",
  "c.bin": "",
};

const documentOf = (args: readonly string[], given: Given): EnvelopeDocument =>
  JSON.parse(te(["--json", ...args], given).text) as EnvelopeDocument;

describe("te", () => {
  test("FAIL-C8: the wrapped command gets its own flags", () => {
    const cwd = repository(FILES);
    expect(te(["grep", "-i", "two", "a.txt"], { cwd }).text).toBe("Two zebra\n");
    expect(te([process.execPath, "--version"], { cwd }).text).toBe(`${process.version}\n`);
    writeFileSync(join(cwd, "gh"), '#!/bin/sh\nprintf "%s|" "$@"\n', { mode: 0o755 });
    expect(te(["./gh", "--json", "a", "--stats", "-h", "--"], { cwd }).text).toBe("--json|a|--stats|-h|--|");
  });

  test.each([
    ["grep", "zebra", "a.txt"],
    ["grep", "-c", "zebra", "a.txt", "d/b.txt"],
    ["grep", "nothing", "a.txt"],
    ["grep", "x", "missing.txt"],
    ["cat", "a.txt", "d/b.txt"],
    ["cat", "missing.txt"],
    ["cat", "c.bin"],
    ["find", ".", "-name", "*.txt", "-not", "-path", "./.llmc/*"],
    ["find", "missing"],
    ["sh", "-c", "echo out; echo err >&2; exit 7"],
    ["false"],
  ])("FAIL-C9: %s %s %s: the same answer and the same exit code", (program, ...args) => {
    const cwd = repository(FILES);
    writeFileSync(join(cwd, "c.bin"), Buffer.from([0xff, 0xfe, 0x00, 0x41, 0x0a, 0x80]));
    const plain = run(program, args, { cwd });
    for (const own of [[], ["--raw"]]) {
      const told = te([...own, program, ...args], { cwd });
      expect(told.status).toBe(plain.status);
      expect(told.stderr).toEqual(plain.stderr);
      expect(told.stdout).toEqual(plain.stdout);
    }
    expect(documentOf([program, ...args], { cwd }).exit_code).toBe(plain.status);
  });

  test("FAIL-C9 REQ-X3: raw is byte for byte the command's, also large and binary", () => {
    const cwd = repository();
    const bytes = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => (i * 2_654_435_761) >>> 13));
    writeFileSync(join(cwd, "big.bin"), bytes);
    const told = te(["--raw", "cat", "big.bin"], { cwd });
    expect([told.status, told.stderr.toString(), told.stdout.length]).toEqual([0, "", bytes.length]);
    expect(told.stdout.equals(bytes)).toBe(true);
    expect(te(["--raw", "cat"], { cwd, input: bytes }).stdout.equals(bytes)).toBe(true);
    const both = execFileSync("sh", ["-c", `${launcher} --raw sh -c 'echo 1; echo 2 >&2; echo 3' 2>&1`], {
      cwd,
    });
    expect(both.toString()).toBe("1\n2\n3\n");
  });

  test("REQ-X3: exit codes are a shell's", () => {
    const cwd = repository({ "plain.txt": "x", "script.sh": "#!/no/such/interpreter\n" });
    chmodSync(join(cwd, "script.sh"), 0o755);
    const missing = te(["no-such-program", "x"], { cwd });
    expect([missing.status, missing.stderr.toString()]).toEqual([
      127,
      "te: no-such-program: command not found\n",
    ]);
    expect(te(["--raw", "no-such-program"], { cwd }).status).toBe(127);
    expect(te(["./plain.txt"], { cwd }).status).toBe(126);
    expect(te(["./script.sh"], { cwd }).status).toBe(127);
    expect(te(["sh", "-c", "kill -9 $$"], { cwd }).status).toBe(137);
    expect(te(["--raw", "sh", "-c", "kill -15 $$"], { cwd }).status).toBe(143);
    expect(te(["--nope"], { cwd }).status).toBe(125);
  });

  test("REQ-X3: works in pipes, on both sides", () => {
    const scripted = ["sh", "-c", "echo to-file > /dev/stderr; printf no-newline > /dev/stdout"];
    expect(te(scripted, { cwd: repository() })).toMatchObject({ status: 0, text: "no-newline" });
    const cwd = repository({ "n.txt": "1\n22\n3\n" });
    expect(te(["grep", "-c", "2"], { cwd, input: "1\n2\n22\n" }).text).toBe("2\n");
    const piped = execFileSync("sh", ["-c", `cat n.txt | ${launcher} sort -r | head -1`], { cwd });
    expect(piped.toString()).toBe("3\n");
    const endless = spawnSync("bash", ["-c", `${launcher} --raw yes | head -2; echo \${PIPESTATUS[0]}`], {
      cwd,
    });
    expect(endless.stdout.toString()).toBe("y\ny\n141\n");
  });

  test("REQ-X3 REQ-X4: a long output is summarized; its handle leads to all of it, here and through the tools", async () => {
    const app = await openTestApp({
      config: '[mcp]\nmode = "hybrid"\n',
      files: { "big.txt": Array.from({ length: 20_000 }, (_, i) => `${i} zebra\n`).join("") },
    });
    const cwd = app.root;
    const told = te(["grep", "-n", "zebra", "big.txt"], { cwd });
    expect(told.text.length).toBeLessThan(10_000);
    const id = /\[cut; all: te --handle (h_\w+)\]\n$/.exec(told.text)?.[1] ?? "";
    const first = te(["--handle", id], { cwd });
    expect(first.text).toMatch(/^1:0 zebra\n2:1 zebra\n/);
    expect(first.stderr.toString()).toBe(`[more: te --handle ${id} --chunk 1]\n`);
    expect(Buffer.byteLength(first.text)).toBe(65_536);
    const second = te(["--handle", id, "--chunk", "1"], { cwd });
    const whole = run("grep", ["-n", "zebra", "big.txt"], { cwd }).text;
    expect(whole.startsWith(first.text + second.text)).toBe(true);
    expect(await app.text("read_file", { path: `handle:${id}`, offset: 19_999, limit: 1 })).toContain(
      "20000:19999 zebra",
    );
    expect(te(["--list-handles"], { cwd }).text).toContain(id);
    const byTool = /handle:(h_\w+)/.exec(await app.text("run_cmd", { command: "cat big.txt" }))?.[1] ?? "";
    expect(te(["--handle", `handle:${byTool}`], { cwd }).text).toMatch(/^0 zebra\n1 zebra\n/);
    const gone = te(["--handle", "h_nope"], { cwd });
    expect([gone.status, gone.text]).toEqual([125, ""]);
    expect(gone.stderr.toString()).toMatch(/^te: There is no handle/);
  });

  test("REQ-X6: flags, then the environment, then the configuration; passed on to the command", async () => {
    const cwd = tempWorkspace({ "llmc.toml": '[mcp.session]\ndefault_agent_id = "from-config"\n' });
    const untrusted = te(["true"], { cwd });
    expect(untrusted.stderr.toString()).toContain("not trusted with it: mcp.session.default_agent_id");
    await trustWorkspace(cwd);
    const print = ["sh", "-c", 'echo "$TE_AGENT_ID|$TE_SESSION_ID|$TE_MODEL|$NODE_COMPILE_CACHE"'];
    expect(te(print, { cwd }).text).toBe("from-config||unknown|\n");
    const env = { TE_AGENT_ID: "env", TE_SESSION_ID: "s1", TE_MODEL: "m1" };
    expect(te(print, { cwd, env }).text).toBe("env|s1|m1|\n");
    const flags = ["--agent", "fl\u001bag", "--session=s2"];
    expect(te([...flags, ...print], { cwd, env }).text).toBe("fl?ag|s2|m1|\n");
    expect(documentOf(["true"], { cwd, env }).telemetry.agent_id).toBe("env");
  });

  test("REQ-X5: --stats tells what was spent, and nothing where nothing was", () => {
    const cwd = repository(FILES);
    expect(te(["--stats"], { cwd }).text).toMatch(/^No commands have been recorded/);
    te(["--agent", "me", "grep", "zebra", "a.txt"], { cwd });
    te(["git", "status"], { cwd });
    te(["--raw", "false"], { cwd });
    const { text } = te(["--stats"], { cwd });
    expect(text).toMatch(/^3 commands, 1 failed/);
    expect(text).toContain("me / unknown");
    expect(text).toContain("git status");
    expect(JSON.parse(te(["--stats", "--json"], { cwd }).text)).toMatchObject({ total: { calls: 3 } });
  });

  test("REQ-X8: a session has its cap; without one there is none", () => {
    const cwd = tempWorkspace({ "llmc.toml": "[mcp.te]\nsession_token_budget = 500\n" });
    const flood = ["seq", "1", "20000"];
    const env = { TE_SESSION_ID: "s" };
    const codes = [1, 2, 3, 4].map(() => te(flood, { cwd, env }).status);
    expect(codes[0]).toBe(0);
    expect(codes.at(-1)).toBe(125);
    expect(te(["--raw", "true"], { cwd, env }).stderr.toString()).toContain("session_token_budget");
    expect(te(flood, { cwd }).status).toBe(0);
  });

  test("keeps nothing where there is no workspace, and shows all of it", () => {
    const cwd = tempWorkspace();
    expect(te(["seq", "1", "30000"], { cwd }).text.split("\n")).toHaveLength(30_001);
    expect(documentOf(["seq", "1", "30000"], { cwd })).toMatchObject({
      mode: "passthrough",
      enrichment: { truncated: true, handle: null },
    });
    expect(te(["--list-handles"], { cwd }).text).toBe("Nothing is kept.\n");
    expect(te(["--stats"], { cwd }).status).toBe(0);
    expect(te(["--handle", "h_x"], { cwd }).status).toBe(125);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test("in a repository, what it keeps does not show up as a change", () => {
    const cwd = repository();
    mkdirSync(join(cwd, "deep/er"), { recursive: true });
    te(["true"], { cwd: join(cwd, "deep/er") });
    expect(existsSync(join(cwd, ".llmc/state.db"))).toBe(true);
    expect(run("git", ["status", "--porcelain"], { cwd }).text).toBe("");
  });

  test("FAIL-D7 REQ-X7: a state that cannot be written costs nobody their command", () => {
    const cwd = repository({ ".llmc": "a file where the folder should be" });
    const told = te(["sh", "-c", "seq 1 20000; exit 5"], { cwd });
    expect([told.status, told.stderr.toString()]).toEqual([5, ""]);
    expect(told.text).toMatch(/^1\n2\n3\n/);
    expect(te(["--raw", "echo", "x"], { cwd }).text).toBe("x\n");
  });

  test("a broken configuration is told, and the command run", () => {
    const cwd = tempWorkspace({ "llmc.toml": "[mcp.te]\nenabeld = true\n" });
    const told = te(["echo", "x"], { cwd });
    expect([told.status, told.text]).toEqual([0, "x\n"]);
    expect(told.stderr.toString()).toContain("llmc config validate");
  });

  test("REQ-X7: switched off, the output is the command's own and nothing is kept", async () => {
    const cwd = tempWorkspace({ "llmc.toml": "[mcp.te]\nenabled = false\n" });
    await trustWorkspace(cwd);
    expect(te(["seq", "1", "30000"], { cwd }).text.split("\n")).toHaveLength(30_001);
    expect(readdirSync(cwd)).toEqual(["llmc.toml"]);
  });

  test.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
    ["SIGHUP", 129],
  ] as const)("FAIL-D5: %s reaches the command, and its end is ours", async (signal, status) => {
    const cwd = repository();
    const child = spawn(launcher, ["sh", "-c", "echo ready > ready; exec sleep 60"], {
      cwd,
      env: cleanEnv(),
      stdio: "ignore",
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await expect.poll(() => existsSync(join(cwd, "ready")), { timeout: 15_000 }).toBe(true);
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    expect(await ended).toBe(status);
  });

  test("a daemon that the command leaves behind keeps nobody waiting", () => {
    const cwd = repository();
    const startedAt = performance.now();
    expect(te(["sh", "-c", "sleep 20 & echo started"], { cwd }).text).toBe("started\n");
    expect(performance.now() - startedAt).toBeLessThan(15_000);
  });
});
