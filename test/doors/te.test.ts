import { execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import type { EnvelopeDocument } from "../../src/envelope/contract.ts";
import { runTe } from "../../src/te/program.ts";
import { tePartsOf } from "../../src/wiring/te-parts.ts";
import { openTestApp, tempWorkspace, trustWorkspace } from "../app.ts";
import { ownState } from "../user-state.ts";
import { cleanEnv } from "../workspace.ts";

const launcher = fileURLToPath(new URL("../../bin/te", import.meta.url));

interface Given {
  readonly cwd: string;
  readonly input?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
}

interface Finished {
  readonly status: number | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly text: string;
}

const environment = (env: Given["env"]): Record<string, string | undefined> => ({
  ...cleanEnv(),
  LC_ALL: "C",
  ...env,
});

const run = (program: string, args: readonly string[], { cwd, input = "", env }: Given): Finished => {
  const done = spawnSync(program, args, { cwd, input, env: environment(env), maxBuffer: 1e9 });
  return { status: done.status, stdout: done.stdout, stderr: done.stderr, text: done.stdout.toString() };
};

/** te as people start it: the launcher, its Node, and a process of its own. */
const startTe = (args: readonly string[], given: Given): Finished => run(launcher, args, given);

/** Files in place of pipes: what is written to them can be read when te has ended. */
const openStreams = (folder: string, input: string | Buffer) => {
  const path = (name: string): string => join(folder, name);
  const writer = (name: string) => {
    const fd = openSync(path(name), "w");
    return Object.assign(createWriteStream("", { fd }), { fd });
  };
  writeFileSync(path("in"), input);
  const [stdin, stdout, stderr] = [openSync(path("in"), "r"), writer("out"), writer("err")];
  const end = async (): Promise<{ stdout: Buffer; stderr: Buffer }> => {
    closeSync(stdin);
    await Promise.all([stdout, stderr].map((stream) => new Promise<void>((done) => stream.end(done))));
    return { stdout: readFileSync(path("out")), stderr: readFileSync(path("err")) };
  };
  return { streams: { stdin, stdout, stderr }, end };
};

/** te in this process, without the start of Node that a hundred commands would have to wait for. */
const te = async (args: readonly string[], { cwd, input = "", env }: Given): Promise<Finished> => {
  const { streams, end } = openStreams(tempWorkspace(), input);
  const whole = environment(env);
  const status = await runTe(args, tePartsOf({ cwd, env: whole, home: whole["HOME"] ?? cwd, streams }));
  const written = await end();
  return { status, ...written, text: written.stdout.toString() };
};

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

const documentOf = async (args: readonly string[], given: Given): Promise<EnvelopeDocument> =>
  JSON.parse((await te(["--json", ...args], given)).text) as EnvelopeDocument;

describe("te", () => {
  test("FAIL-C8: the wrapped command gets its own flags", async () => {
    const cwd = repository(FILES);
    expect(startTe(["grep", "-i", "two", "a.txt"], { cwd }).text).toBe("Two zebra\n");
    expect((await te([process.execPath, "--version"], { cwd })).text).toBe(`${process.version}\n`);
    writeFileSync(join(cwd, "gh"), '#!/bin/sh\nprintf "%s|" "$@"\n', { mode: 0o755 });
    expect(startTe(["./gh", "--json", "a", "--stats", "-h", "--"], { cwd }).text).toBe(
      "--json|a|--stats|-h|--|",
    );
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
  ])("FAIL-C9: %s %s %s: the same answer and the same exit code", async (program, ...args) => {
    const cwd = repository(FILES);
    writeFileSync(join(cwd, "c.bin"), Buffer.from([0xff, 0xfe, 0x00, 0x41, 0x0a, 0x80]));
    const plain = run(program, args, { cwd });
    for (const own of [[], ["--raw"]]) {
      const finished = await te([...own, program, ...args], { cwd });
      expect(finished.status).toBe(plain.status);
      expect(finished.stderr).toEqual(plain.stderr);
      expect(finished.stdout).toEqual(plain.stdout);
    }
    expect((await documentOf([program, ...args], { cwd })).exit_code).toBe(plain.status);
  });

  test("FAIL-C9 REQ-X3: raw is byte for byte the command's, also large and binary", async () => {
    const cwd = repository();
    const bytes = randomBytes(3_000_000);
    writeFileSync(join(cwd, "big.bin"), bytes);
    const finished = startTe(["--raw", "cat", "big.bin"], { cwd });
    expect([finished.status, finished.stderr.toString(), finished.stdout.length]).toEqual([
      0,
      "",
      bytes.length,
    ]);
    expect(finished.stdout.equals(bytes)).toBe(true);
    expect(startTe(["--raw", "cat"], { cwd, input: bytes }).stdout.equals(bytes)).toBe(true);
    const both = execFileSync("sh", ["-c", `${launcher} --raw sh -c 'echo 1; echo 2 >&2; echo 3' 2>&1`], {
      cwd,
    });
    expect(both.toString()).toBe("1\n2\n3\n");
  });

  test("REQ-X3: exit codes are a shell's", async () => {
    const cwd = repository({ "plain.txt": "x", "script.sh": "#!/no/such/interpreter\n" });
    chmodSync(join(cwd, "script.sh"), 0o755);
    const missing = startTe(["no-such-program", "x"], { cwd });
    expect([missing.status, missing.stderr.toString()]).toEqual([
      127,
      "te: no-such-program: command not found\n",
    ]);
    expect((await te(["--raw", "no-such-program"], { cwd })).status).toBe(127);
    expect((await te(["./plain.txt"], { cwd })).status).toBe(126);
    expect((await te(["./script.sh"], { cwd })).status).toBe(127);
    expect(startTe(["sh", "-c", "kill -9 $$"], { cwd }).status).toBe(137);
    expect((await te(["--raw", "sh", "-c", "kill -15 $$"], { cwd })).status).toBe(143);
    expect((await te(["--nope"], { cwd })).status).toBe(125);
  });

  test("REQ-X3: works in pipes, on both sides", async () => {
    const scripted = ["sh", "-c", "echo to-file > /dev/stderr; printf no-newline > /dev/stdout"];
    expect(startTe(scripted, { cwd: repository() })).toMatchObject({ status: 0, text: "no-newline" });
    const cwd = repository({ "n.txt": "1\n22\n3\n" });
    expect(startTe(["grep", "-c", "2"], { cwd, input: "1\n2\n22\n" }).text).toBe("2\n");
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
    const finished = startTe(["grep", "-n", "zebra", "big.txt"], { cwd });
    expect(finished.text.length).toBeLessThan(10_000);
    const id = /\[cut; all: te --handle (h_\w+)\]\n$/.exec(finished.text)?.[1] ?? "";
    const first = startTe(["--handle", id], { cwd });
    expect(first.text).toMatch(/^1:0 zebra\n2:1 zebra\n/);
    expect(first.stderr.toString()).toBe(`[more: te --handle ${id} --chunk 1]\n`);
    expect(Buffer.byteLength(first.text)).toBe(65_536);
    const second = await te(["--handle", id, "--chunk", "1"], { cwd });
    const whole = run("grep", ["-n", "zebra", "big.txt"], { cwd }).text;
    expect(whole.startsWith(first.text + second.text)).toBe(true);
    expect(await app.text("read_file", { path: `handle:${id}`, offset: 19_999, limit: 1 })).toContain(
      "20000:19999 zebra",
    );
    expect((await te(["--list-handles"], { cwd })).text).toContain(id);
    const byTool = /handle:(h_\w+)/.exec(await app.text("run_cmd", { command: "cat big.txt" }))?.[1] ?? "";
    expect((await te(["--handle", `handle:${byTool}`], { cwd })).text).toMatch(/^0 zebra\n1 zebra\n/);
    const gone = await te(["--handle", "h_nope"], { cwd });
    expect([gone.status, gone.text]).toEqual([125, ""]);
    expect(gone.stderr.toString()).toMatch(/^te: There is no handle/);
  });

  test("REQ-X6: flags, then the environment, then the configuration; passed on to the command", async () => {
    const cwd = tempWorkspace({ "llmc.toml": '[mcp.session]\ndefault_agent_id = "from-config"\n' });
    const untrusted = await te(["true"], { cwd });
    expect(untrusted.stderr.toString()).toContain("not trusted with it: mcp.session.default_agent_id");
    await trustWorkspace(cwd);
    const print = ["sh", "-c", 'echo "$TE_AGENT_ID|$TE_SESSION_ID|$TE_MODEL|$NODE_COMPILE_CACHE"'];
    expect(startTe(print, { cwd }).text).toBe("from-config||unknown|\n");
    const env = { TE_AGENT_ID: "env", TE_SESSION_ID: "s1", TE_MODEL: "m1" };
    expect((await te(print, { cwd, env })).text).toBe("env|s1|m1|\n");
    const flags = ["--agent", "fl\u001bag", "--session=s2"];
    expect((await te([...flags, ...print], { cwd, env })).text).toBe("fl?ag|s2|m1|\n");
    expect((await documentOf(["true"], { cwd, env })).telemetry.agent_id).toBe("env");
    // Without any of them it is the person's own command, and no client's.
    expect((await documentOf(["true"], { cwd: tempWorkspace() })).telemetry.agent_id).toBe("te");
  });

  test("REQ-X5: --stats tells what was spent, and nothing where nothing was", async () => {
    const cwd = repository(FILES);
    expect((await te(["--stats"], { cwd })).text).toMatch(/^No commands have been recorded/);
    await te(["--agent", "me", "grep", "zebra", "a.txt"], { cwd });
    await te(["git", "status"], { cwd });
    await te(["--raw", "false"], { cwd });
    const { text } = await te(["--stats"], { cwd });
    expect(text).toMatch(/^3 commands, 1 failed/);
    expect(text).toContain("me / unknown");
    expect(text).toContain("git status");
    expect(JSON.parse((await te(["--stats", "--json"], { cwd })).text)).toMatchObject({
      total: { calls: 3 },
    });
  });

  test("REQ-X8: a session has its cap; without one there is none", async () => {
    const cwd = tempWorkspace({ "llmc.toml": "[mcp.te]\nsession_token_budget = 500\n" });
    const flood = ["seq", "1", "20000"];
    const env = { TE_SESSION_ID: "s" };
    const codes: (number | null)[] = [];
    for (let round = 0; round < 4; round++) codes.push((await te(flood, { cwd, env })).status);
    expect(codes[0]).toBe(0);
    expect(codes.at(-1)).toBe(125);
    expect((await te(["--raw", "true"], { cwd, env })).stderr.toString()).toContain("session_token_budget");
    expect((await te(flood, { cwd })).status).toBe(0);
  });

  test("keeps nothing where there is no workspace, and shows all of it", async () => {
    const cwd = tempWorkspace();
    expect((await te(["seq", "1", "30000"], { cwd })).text.split("\n")).toHaveLength(30_001);
    expect(await documentOf(["seq", "1", "30000"], { cwd })).toMatchObject({
      mode: "passthrough",
      enrichment: { truncated: true, handle: null },
    });
    expect((await te(["--list-handles"], { cwd })).text).toBe("Nothing is kept.\n");
    expect((await te(["--stats"], { cwd })).status).toBe(0);
    expect((await te(["--handle", "h_x"], { cwd })).status).toBe(125);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test("in a repository, what it keeps does not show up as a change", async () => {
    const cwd = repository();
    mkdirSync(join(cwd, "deep/er"), { recursive: true });
    await te(["true"], { cwd: join(cwd, "deep/er") });
    expect(existsSync(ownState(cwd, "state.db"))).toBe(true);
    expect(run("git", ["status", "--porcelain"], { cwd }).text).toBe("");
  });

  test("FAIL-D7 REQ-X7: a state that cannot be written costs nobody their command", async () => {
    const cwd = repository({ ".llmc": "a file where the folder should be" });
    const finished = await te(["sh", "-c", "seq 1 20000; exit 5"], { cwd });
    expect([finished.status, finished.stderr.toString()]).toEqual([
      5,
      "te: this command is not recorded: the audit trail cannot be written\n",
    ]);
    expect(finished.text).toMatch(/^1\n2\n3\n/);
    expect((await te(["--raw", "echo", "x"], { cwd })).text).toBe("x\n");
  });

  test("a broken configuration is told, and the command run", async () => {
    const cwd = tempWorkspace({ "llmc.toml": "[mcp.te]\nenabeld = true\n" });
    const finished = await te(["echo", "x"], { cwd });
    expect([finished.status, finished.text]).toEqual([0, "x\n"]);
    expect(finished.stderr.toString()).toContain("llmc config validate");
  });

  test("REQ-X7: switched off, the output is the command's own and nothing is kept", async () => {
    const cwd = tempWorkspace({ "llmc.toml": "[mcp.te]\nenabled = false\n" });
    await trustWorkspace(cwd);
    expect((await te(["seq", "1", "30000"], { cwd })).text.split("\n")).toHaveLength(30_001);
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

  test("a daemon that the command leaves behind keeps nobody waiting", async () => {
    const cwd = repository();
    const startedAt = performance.now();
    expect(startTe(["sh", "-c", "sleep 20 & echo started"], { cwd }).text).toBe("started\n");
    expect(performance.now() - startedAt).toBeLessThan(15_000);
  });
});
