import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { rounds } from "../rounds.ts";
import { failureOf, MODERN_META, type Server, textOf } from "../server.ts";
import {
  cleanEnv,
  createWorkspace,
  launcher,
  type StartOptions,
  toolModule,
  WITH_MODULES,
} from "../workspace.ts";

const WAITING = toolModule(`
  tool("wait", (_args, _ports, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))));
  tool("deaf", () => new Promise(() => {}));
  tool("brief", () => new Promise((resolve) => setTimeout(() => resolve("done"), 200)));
  tool("chatty", () => { console.log("x".repeat(500)); console.error("y".repeat(500)); return "done"; });
`);

const start = async (options: StartOptions = {}) => {
  const workspace = await createWorkspace({ "a.txt": "hello", "mods/waiting.mjs": WAITING });
  const server = await workspace.start({ ...options, args: [...WITH_MODULES, ...(options.args ?? [])] });
  return { workspace, server, [Symbol.asyncDispose]: () => workspace.remove() };
};

/** A server that waits for calls takes a second each time it is told to end; on a busy machine one that does not may, too. */
const endsAtOnce = async (stop: () => Promise<number>): Promise<void> => {
  const took: number[] = [];
  do took.push(await stop());
  while (Math.min(...took) >= 900 && took.length < 5);
  expect(Math.min(...took)).toBeLessThan(900);
};

const timeToStop = async (server: Server): Promise<number> => {
  const startedAt = performance.now();
  expect(await server.stop()).toEqual({ code: 0, signal: null });
  return performance.now() - startedAt;
};

describe("FAIL-D7 the client goes away", () => {
  test("it closes its end with nothing under way: exit at once", () =>
    endsAtOnce(async () => {
      await using setup = await start();
      return await timeToStop(setup.server);
    }));

  test.each([true, false])(
    "it closes its end in the middle of calls: what can be answered is, then exit (subprocess = %s)",
    async (subprocess) => {
      await using setup = await start({ args: ["--set", `mcp.subprocess=${subprocess}`] });
      const { server } = setup;
      const brief = server.askTool("brief");
      server.askTool("wait");
      server.askTool("deaf");
      const startedAt = performance.now();
      expect(await server.stop()).toEqual({ code: 0, signal: null });
      expect(performance.now() - startedAt).toBeLessThan(3000);
      expect(textOf(await server.toolResult(brief))).toBe('"done"');
      // Of the others their client hears nothing: it is gone, and only a person who reads stderr can be told.
      expect(server.stderr).toContain("2 messages were not answered in time");
      expect(server.strays).toEqual([]);
    },
  );

  test("it closes its end while it is subscribed: exit at once", () =>
    endsAtOnce(async () => {
      await using workspace = await createWorkspace();
      const server = await workspace.start({ handshake: false });
      await server.request("tools/list", { _meta: MODERN_META });
      server.ask("subscriptions/listen", { _meta: MODERN_META, notifications: { toolsListChanged: true } });
      await server.until(() => server.messages.length === 2, "the acknowledgement");
      return await timeToStop(server);
    }));

  test("it stops reading: the broken pipe ends the server, quietly", async () => {
    await using setup = await start();
    const { server } = setup;
    server.process.stdout.destroy();
    for (let i = 0; i < 10; i++) server.askTool("read_file", { path: "a.txt" });
    const exit = await Promise.race([
      server.exited,
      new Promise((resolve) => setTimeout(resolve, 3000, "alive")),
    ]);
    expect(exit).toEqual({ code: 0, signal: null });
    expect(server.stderr).not.toMatch(/EPIPE|Unhandled|node:/);
  });

  test("a reader that is slow to begin loses no answer", async () => {
    await using workspace = await createWorkspace();
    const list = (id: number) => JSON.stringify({ jsonrpc: "2.0", id, method: "tools/list" });
    const requests = Array.from({ length: 60 }, (_, id) => list(id)).join("\n");
    // More than a pipe holds, and little enough to wait in our own buffer.
    const shell = spawn(
      "sh",
      [
        "-c",
        '"$0" serve --stdio --mode hybrid --root "$1" 2>/dev/null | (sleep 0.7; cat)',
        launcher,
        workspace.root,
      ],
      { env: cleanEnv() },
    );
    shell.stdin.end(requests);
    const lines = (await text(shell.stdout)).trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { id: number }).id).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 60 }, (_, id) => id),
    );
  });
});

describe("FAIL-D7 the server goes away", () => {
  test("kill -9 in the middle of a call, then a new start", async () => {
    await using setup = await start();
    const { server, workspace } = setup;
    server.askTool("wait");
    await server.request("ping");
    server.process.kill("SIGKILL");
    expect(await server.exited).toEqual({ code: null, signal: "SIGKILL" });
    const again = await workspace.start();
    expect(textOf(await again.call("read_file", { path: "a.txt" }))).toBe("hello");
  });

  test.each(["SIGTERM", "SIGINT"] as const)(
    "%s: exit 0, in time, also with a call that does not end",
    async (signal) => {
      await using setup = await start();
      const { server } = setup;
      server.askTool("deaf");
      await server.request("ping");
      const startedAt = performance.now();
      server.process.kill(signal);
      expect(await server.exited).toEqual({ code: 0, signal: null });
      expect(performance.now() - startedAt).toBeLessThan(3000);
    },
  );
});

describe("FAIL-D7 the machine is short of something", () => {
  test.each(["/dev/full", "/proc/no-such-file"])(
    "REQ-O3 a token audit that cannot be written (%s)",
    async (path) => {
      const args = ["mcp.observability.csv_token_audit_enabled=true", `mcp.observability.csv_path=${path}`];
      await using setup = await start({ args: args.flatMap((set) => ["--set", set]) });
      const { server } = setup;
      for (let i = 0; i < 5; i++)
        expect(textOf(await server.call("read_file", { path: "a.txt" }))).toBe("hello");
      await server.until(
        () => /"level":"warn".*token audit could not be written/.test(server.stderr),
        "the warning",
      );
      expect(await server.stop()).toEqual({ code: 0, signal: null });
    },
  );

  test("descriptors run out: calls are done or busy, and all is well afterwards", async () => {
    await using setup = await start({ command: ["sh", "-c", `ulimit -n 40; exec "${launcher}" "$@"`, "sh"] });
    const { server } = setup;
    const ids = Array.from({ length: 300 }, (_, i) =>
      i % 2 === 0 ? server.askTool("read_file", { path: "a.txt" }) : server.askTool("list_dir"),
    );
    const results = await Promise.all(ids.map((id) => server.toolResult(id)));
    const failures = results.filter(({ isError }) => isError === true).map(failureOf);
    for (const { meta } of failures) expect(meta).toMatchObject({ error_code: "busy", retryable: true });
    expect(failures.length).toBeLessThan(300);
    for (let i = 0; i < 20; i++)
      expect(textOf(await server.call("read_file", { path: "a.txt" }))).toBe("hello");
  });

  test("memory runs short: the heap of a small machine is enough for thousands of calls", async () => {
    await using setup = await start({ env: { NODE_OPTIONS: "--max-old-space-size=96" } });
    const { server } = setup;
    for (let i = 0; i < rounds(2, 10); i++) {
      const ids = Array.from({ length: 1000 }, () => server.askTool("health"));
      await server.until(() => ids.every((id) => server.answersTo(id).length === 1), "1,000 answers");
    }
    expect(server.hasExited).toBe(false);
  });
});

describe("FAIL-D6 REQ-O2 nobody reads stderr", () => {
  test.each([
    { title: "a socket, as Node's clients make it", tool: "health", fifo: false },
    { title: "a pipe, as a shell makes it", tool: "health", fifo: true },
    { title: "a socket, and a module that prints", tool: "chatty", fifo: false },
    { title: "a pipe, and a module that prints", tool: "chatty", fifo: true },
  ])(
    "$title: thousands of calls are answered all the same, and it ends when told",
    async ({ tool, fifo }) => {
      await using workspace = await createWorkspace({ "mods/waiting.mjs": WAITING });
      // Opened for reading as well, the pipe needs no reader: it fills up, and stays full.
      const toPipe = `mkfifo "$PIPE"; exec "${launcher}" "$@" 2<>"$PIPE"`;
      const server = await workspace.start({
        args: [...WITH_MODULES, "--set", "mcp.limits.max_queued_requests=10000"],
        ignoreStderr: true,
        ...(fifo
          ? { command: ["sh", "-c", toPipe, "sh"], env: { PIPE: join(workspace.root, "stderr") } }
          : {}),
      });
      // What they log is many times what a pipe or a socket holds.
      const ids = Array.from({ length: rounds(1500, 5000) }, () => server.askTool(tool));
      await server.until(() => ids.every((id) => server.answersTo(id).length === 1), "all answers");
      expect(await server.request("ping")).toHaveProperty("result");
      expect(await server.stop()).toEqual({ code: 0, signal: null });
    },
  );
});
