import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, test } from "vitest";
import { rounds } from "../rounds.ts";
import { failureOf, type Message, type ServerProcess, type ToolResult, textOf } from "../server.ts";
import {
  confinedFrontsOf,
  controlGroupsOf,
  coreOf,
  descendantsOf,
  descriptorsOf,
  frontBelow,
  frontOf,
  frontsOf,
  isAlive,
} from "../server-parts.ts";
import { cleanEnv, createWorkspace, launcher } from "../workspace.ts";

const AT_ONCE = 8;

interface Done {
  readonly i: number;
  readonly isAppend: boolean;
  readonly id: number;
  readonly result: ToolResult;
}

/** A stream of calls of a client that has a few open at any time: every fourth appends a line to a file. */
const makeCalls = async (
  server: ServerProcess,
  count: number,
  isOver: () => boolean,
): Promise<readonly Done[]> => {
  const done: Done[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count || !isOver()) {
      const i = next++;
      const isAppend = i % 4 === 0;
      const id = isAppend
        ? server.askTool("linux_fs_write", { path: "log.txt", content: `${i}\n`, mode: "append" })
        : server.askTool("read_file", { path: "a.txt" });
      done.push({ i, isAppend, id, result: await server.toolResult(id, 50_000) });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return done;
};

/**
 * Kills a process of the server again and again. Every third time at once, while it starts; otherwise when it has had some
 * answers pass: on a busy machine a start takes longer than any fixed time.
 */
const killAgain = async (
  server: ServerProcess,
  find: (server: ServerProcess) => number | undefined,
  times: number,
): Promise<void> => {
  let last: number | undefined;
  for (let kills = 0; kills < times; ) {
    const pid = find(server);
    if (pid === undefined || pid === last) {
      await sleep(10);
      continue;
    }
    const had = server.messages.length;
    const wanted = kills % 3 === 0 ? 0 : 1 + Math.floor(Math.random() * 50);
    await server.until(() => server.messages.length >= had + wanted, "answers between two kills", 50_000);
    await sleep(Math.random() * 20);
    last = pid;
    // It may have been replaced meanwhile, because it had grown: then it ended by itself.
    if (!isAlive(pid)) continue;
    process.kill(pid, "SIGKILL");
    kills++;
  }
};

const countLines = (text: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const line of text.split("\n").filter(Boolean)) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
};

/** Connections to a front at once: ten for requests, and those for events, cancelling and logs, one of them unused. */
const MAX_CONNECTIONS = 14;

const connectionsOf = (pid: number): number =>
  descriptorsOf(pid).filter((name) => name.startsWith("socket:")).length;

const start = async ({ capabilities = {} } = {}) => {
  const folder = await mkdtemp("/tmp/llmc-killed-");
  const workspace = await createWorkspace({ "a.txt": "hello\n", "log.txt": "" });
  const args = ["--mode", "classic", "--set", "mcp.subprocess=true"];
  const server = await workspace.start({ args, env: { XDG_RUNTIME_DIR: folder }, handshake: false });
  await server.handshake(capabilities);
  await server.call("read_file", { path: "a.txt" });
  // Opens what stays open.
  await server.call("linux_fs_write", { path: "b.txt", content: "b" });
  const remove = async (): Promise<void> => {
    await workspace.remove();
    await rm(folder, { recursive: true });
  };
  return { workspace, server, folder, [Symbol.asyncDispose]: remove };
};

/** What a server has open on the machine: it must be the same after a hundred fronts. */
const openOn = (server: ServerProcess, folder: string) => ({
  supervisor: descriptorsOf(server.process.pid ?? 0),
  // Of connections to fronts, it has as many as are used at once.
  core: descriptorsOf(coreOf(server) ?? 0)
    .filter((name) => !name.startsWith("socket:"))
    // Another core has files of its own names.
    .map((name) => name.replace(/[^/]+\.(?=head$|log$|jsonl$)/, ".")),
  // The number of a front is in the name of its socket.
  sockets: readdirSync(folder, { recursive: true }).map((name) => String(name).replace(/\d+|llmc-\w+/g, "N")),
  groups: controlGroupsOf(server.process.pid ?? 0).length,
});

/** The same once nothing is being started: a launch has pipes of its own, and so has the warm-up. */
const settled = async (server: ServerProcess, folder: string) => {
  for (;;) {
    const now = openOn(server, folder);
    await sleep(500);
    const isSame = JSON.stringify(now) === JSON.stringify(openOn(server, folder));
    if (isSame && frontsOf(server).length === 1 && coreOf(server) !== undefined) return now;
  }
};

describe("FAIL-H2 REQ-I9 the front is killed under load", () => {
  test("every request is answered once, no append is lost or done twice, and nothing is left over", {
    timeout: rounds(120_000, 1_200_000),
  }, async () => {
    await using setup = await start();
    const { server, workspace, folder } = setup;
    const supervisor = server.process.pid ?? 0;
    const before = await settled(server, folder);
    const coreBefore = coreOf(server);
    const connectionsBefore = connectionsOf(coreBefore ?? 0);
    let isOver = false;
    const killing = killAgain(server, frontOf, rounds(8, 100)).finally(() => {
      isOver = true;
    });
    const done = await makeCalls(server, rounds(400, 10_000), () => isOver);
    await killing;
    for (const { id, result, isAppend } of done) {
      expect(server.answersTo(id)).toHaveLength(1);
      expect(result.isError, textOf(result)).not.toBe(true);
      if (!isAppend) expect(textOf(result)).toBe("hello\n");
    }
    const lines = countLines(await workspace.read("log.txt"));
    for (const { i, isAppend } of done) if (isAppend) expect(lines.get(String(i)), `append ${i}`).toBe(1);
    expect(lines.size).toBe(done.filter(({ isAppend }) => isAppend).length);
    expect(server.strays).toEqual([]);
    expect(coreOf(server)).toBe(coreBefore);
    expect(await server.toolNames()).toContain("read_file");
    expect(await settled(server, folder)).toEqual(before);
    expect(connectionsOf(coreBefore ?? 0) - connectionsBefore).toBeLessThan(MAX_CONNECTIONS);
    const parts = descendantsOf(supervisor);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    for (const pid of parts) expect(isAlive(pid)).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
    expect(controlGroupsOf(supervisor)).toEqual([]);
  });
});

describe("FAIL-H2 REQ-I9 the front is killed under the SDK's client", () => {
  test("every call of it is answered, and its session goes on", {
    timeout: rounds(60_000, 600_000),
  }, async () => {
    await using workspace = await createWorkspace({ "a.txt": "hello\n", "log.txt": "" });
    const args = ["serve", "--stdio", "--root", workspace.root, "--mode", "classic"];
    const transport = new StdioClientTransport({
      command: launcher,
      args,
      env: cleanEnv(),
      stderr: "ignore",
    });
    const client = new Client({ name: "real", version: "1" });
    await client.connect(transport);
    let isOver = false;
    const fronts = new Set<number>();
    let [calls, callsBefore] = [0, 0];
    const killing = (async () => {
      while (fronts.size < rounds(5, 50)) {
        await sleep(50 + Math.random() * 100);
        const front = frontBelow(transport.pid ?? 0);
        if (front === undefined || fronts.has(front)) continue;
        // A line that has ended three fronts is refused: each has to answer something.
        if (calls === callsBefore) continue;
        callsBefore = calls;
        fronts.add(front);
        process.kill(front, "SIGKILL");
      }
      isOver = true;
    })();
    for (; calls < rounds(100, 2000) || !isOver; calls++) {
      const [name, given] =
        calls % 4 === 0
          ? ["linux_fs_write", { path: "log.txt", content: `${calls}\n`, mode: "append" }]
          : ["read_file", { path: "a.txt" }];
      expect((await client.callTool({ name, arguments: given })).isError).not.toBe(true);
    }
    await killing;
    const appended = (await workspace.read("log.txt")).split("\n").filter(Boolean);
    expect(appended).toEqual(Array.from({ length: Math.ceil(calls / 4) }, (_, i) => String(i * 4)));
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("read_file");
    await client.close();
  });
});

describe("FAIL-D7 REQ-I9 the core is killed under load", () => {
  test("what was acknowledged is there, what is unknown is said to be, and the session goes on", {
    timeout: rounds(120_000, 600_000),
  }, async () => {
    await using setup = await start();
    const { server, workspace } = setup;
    const { folder } = setup;
    const before = await settled(server, folder);
    const frontBefore = frontOf(server);
    let isOver = false;
    const killing = killAgain(server, coreOf, rounds(3, 20)).finally(() => {
      isOver = true;
    });
    const done = await makeCalls(server, rounds(300, 2000), () => isOver);
    await killing;
    const lines = countLines(await workspace.read("log.txt"));
    for (const { i, id, result, isAppend } of done) {
      expect(server.answersTo(id)).toHaveLength(1);
      if (result.isError !== true) {
        if (isAppend) expect(lines.get(String(i)), `append ${i}`).toBe(1);
        continue;
      }
      const { meta } = failureOf(result);
      expect(isAppend, JSON.stringify(meta)).toBe(true);
      if (meta.retryable) expect(lines.get(String(i)), `append ${i}`).toBeUndefined();
      else expect(meta["outcome"]).toBe("unknown");
      expect(lines.get(String(i)) ?? 0).toBeLessThanOrEqual(1);
    }
    expect(frontOf(server)).toBe(frontBefore);
    expect(textOf(await server.call("read_file", { path: "a.txt" }))).toBe("hello\n");
    await server.call("linux_fs_write", { path: "b.txt", content: "b" });
    expect(await settled(server, folder)).toEqual(before);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    expect(readdirSync(folder)).toEqual([]);
  });
});

/** Calls a program that is not allowed; whoever is asked gives the answer. Resolves to the number of questions. */
const runAsking = (server: ServerProcess) => {
  const questions = (): readonly Message[] =>
    server.messages.filter(({ method }) => method === "elicitation/create");
  return async (program: string, grant: string): Promise<number> => {
    const before = questions().length;
    const id = server.askTool("run_cmd", { command: `${program} --version` });
    const wasAsked = (): boolean => questions().length > before;
    await server.until(() => wasAsked() || server.answersTo(id).length > 0, "a question or the answer");
    const question = questions()[before];
    if (question !== undefined)
      server.send({ id: question.id, result: { action: "accept", content: { grant } } });
    await server.toolResult(id);
    return questions().length - before;
  };
};

describe("REQ-I4 REQ-I9 what the user said, and what becomes of it", () => {
  test("when the core is gone: what they never want to be asked again is not asked; what they allowed for the session is", async () => {
    await using setup = await start({ capabilities: { elicitation: {} } });
    const { server } = setup;
    const run = runAsking(server);
    expect(await run("uname", "never")).toBe(1);
    expect(await run("hostname", "session")).toBe(1);
    expect([await run("uname", "once"), await run("hostname", "once")]).toEqual([0, 0]);
    const core = coreOf(server) ?? 0;
    process.kill(core, "SIGKILL");
    await server.call("read_file", { path: "a.txt" });
    expect(coreOf(server)).not.toBe(core);
    expect([await run("uname", "once"), await run("hostname", "once")]).toEqual([0, 1]);
  });

  test("when a front has ended by itself, who may not have been the user's: the same; when it was replaced, all of it stays", async () => {
    await using setup = await start({ capabilities: { elicitation: {} } });
    const { server } = setup;
    const run = runAsking(server);
    expect(await run("uname", "never")).toBe(1);
    expect(await run("hostname", "session")).toBe(1);
    const replaced = frontOf(server);
    server.process.kill("SIGHUP");
    await server.until(() => server.stderr.includes("the front was replaced"), "another front");
    expect(frontOf(server)).not.toBe(replaced);
    expect([await run("uname", "once"), await run("hostname", "once")]).toEqual([0, 0]);
    process.kill(frontOf(server) ?? 0, "SIGKILL");
    await server.until(() => server.stderr.includes("is started again"), "another front");
    expect([await run("uname", "once"), await run("hostname", "once")]).toEqual([0, 1]);
  });

  test.each([
    ["once", "0"],
    ["never", "does not want to be asked again"],
  ])(
    "FAIL-H2 when a front has ended that was asking: the next one asks once more, and %s counts",
    async (grant, found) => {
      await using setup = await start({ capabilities: { elicitation: {} } });
      const { server } = setup;
      const questions = (): readonly Message[] =>
        server.messages.filter(({ method }) => method === "elicitation/create");
      const id = server.askTool("run_cmd", { command: "id -u" });
      await server.until(() => questions().length === 1, "the question");
      process.kill(frontOf(server) ?? 0, "SIGKILL");
      await server.until(() => questions().length === 2, "the same question of the next front");
      server.send({ id: questions()[1]?.id, result: { action: "accept", content: { grant } } });
      expect(textOf(await server.toolResult(id))).toContain(found);
      expect(questions()).toHaveLength(2);
      const audit = join(setup.workspace.root, ".llmc/audit");
      const records = readdirSync(audit).map((name) => readFileSync(join(audit, name), "utf8"));
      expect(records.join("").match(/"kind":"question"/g)).toHaveLength(1);
    },
  );
});

describe("REQ-I9 the front has grown", () => {
  test("another takes its place without a gap, and what was agreed on stays", async () => {
    await using workspace = await createWorkspace({ "a.txt": "hello\n" });
    // No sandbox, so that nothing ends it for it.
    const flags = ["mcp.subprocess=true", "mcp.sandbox_enabled=false", "mcp.max_memory_mb=128"];
    const server = await workspace.start({ args: flags.flatMap((flag) => ["--set", flag]) });
    await server.call("read_file", { path: "a.txt" });
    const old = frontOf(server) ?? 0;
    // What it parses makes it larger (two bytes a character, because of the last one), and not as large as would end it.
    const large = { path: `${"x".repeat(7 * 1024 * 1024)}€` };
    while (isAlive(old)) await server.call("read_file", large);
    expect(textOf(await server.call("read_file", { path: "a.txt" }))).toBe("hello\n");
    expect(frontOf(server)).not.toBe(old);
    expect(await server.toolNames()).toContain("read_file");
    await server.until(() => server.stderr.includes("the front was replaced"), "the line on stderr");
    expect(server.stderr).not.toContain("started again");
    expect(server.strays).toEqual([]);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  });
});

describe("REQ-I9 the configuration changes what the front may use", () => {
  test("another limit of memory holds at once, for a front that takes its place", async () => {
    await using workspace = await createWorkspace({
      "a.txt": "hello\n",
      "llmc.toml": "mcp.subprocess = true\n",
    });
    const server = await workspace.start();
    const read = async (): Promise<string> => textOf(await server.call("read_file", { path: "a.txt" }));
    await read();
    const old = confinedFrontsOf(server)[0] ?? 0;
    await workspace.write("llmc.toml", "mcp.subprocess = true\nmcp.max_memory_mb = 256\n");
    await workspace.trust();
    while (isAlive(old)) expect(await read()).toBe("hello\n");
    expect(confinedFrontsOf(server)).not.toContain(old);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  });
});

describe("REQ-I9 the front is exchanged (SIGHUP)", () => {
  test("a new one takes over when it is well; one that is not leaves everything to the old one", async () => {
    await using workspace = await createWorkspace({ "a.txt": "hello\n" });
    const server = await workspace.start({ args: ["--set", "mcp.subprocess=true"] });
    const read = async (): Promise<string> => textOf(await server.call("read_file", { path: "a.txt" }));
    await read();
    const old = confinedFrontsOf(server)[0] ?? 0;
    server.process.kill("SIGHUP");
    while (isAlive(old)) expect(await read()).toBe("hello\n");
    const current = confinedFrontsOf(server)[0] ?? 0;
    expect(current).not.toBe(old);
    server.process.kill("SIGHUP");
    let candidate: number | undefined;
    while (candidate === undefined) {
      candidate = confinedFrontsOf(server).find((pid) => pid !== current);
      expect(await read()).toBe("hello\n");
    }
    process.kill(candidate, "SIGKILL");
    await server.until(() => server.stderr.includes("a new front ended"), "the line on stderr");
    expect(await read()).toBe("hello\n");
    expect(confinedFrontsOf(server)).toEqual([current]);
    expect(server.strays).toEqual([]);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  });
});
