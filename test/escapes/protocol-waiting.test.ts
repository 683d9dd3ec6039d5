import { describe, expect, test } from "vitest";
import { failureOf, textOf } from "../server.ts";
import { createWorkspace, toolModule, WITH_MODULES } from "../workspace.ts";

/** `wait` minds its signal, `deaf` does not; `fired` tells how many signals have fired. */
const WAITING = toolModule(`
  let fired = 0;
  let begun = 0;
  tool("wait", (_args, _ports, { signal }) => {
    begun++;
    return new Promise((_resolve, reject) =>
      signal.addEventListener("abort", () => {
        fired++;
        reject(signal.reason);
      }),
    );
  });
  tool("deaf", (_args, _ports, { signal }) => {
    begun++;
    signal.addEventListener("abort", () => fired++);
    return new Promise(() => {});
  });
  tool("count", async () => ({ begun, fired }));
  tool("brief", () => new Promise((resolve) => setTimeout(() => resolve("done"), 20)));
  const slowlyChecked = kit.z.strictObject({}).refine(() => new Promise((resolve) => setTimeout(() => resolve(true), 50)));
  tool("slowly_checked", () => "done", slowlyChecked);
`);

const serve = async (args: readonly string[] = []) => {
  const workspace = await createWorkspace({ "a.txt": "hello", "mods/waiting.mjs": WAITING });
  const server = await workspace.serve({ args: [...WITH_MODULES, ...args] });
  const counts = async () =>
    JSON.parse(textOf(await server.call("count"))) as { begun: number; fired: number };
  const begun = async (wanted: number) => {
    while ((await counts()).begun < wanted);
  };
  const cancel = (requestId: number) =>
    server.send({ method: "notifications/cancelled", params: { requestId } });
  return { workspace, server, counts, begun, cancel, [Symbol.asyncDispose]: () => workspace.remove() };
};

describe.concurrent("FAIL-D5 cancellation", () => {
  test.each(["wait", "deaf"])(
    "%s: ends within a second, its signal fires, and it is not answered",
    async (tool) => {
      await using setup = await serve();
      const { server, counts, begun, cancel } = setup;
      const id = server.askTool(tool);
      await begun(1);
      cancel(id);
      await expect.poll(async () => (await counts()).fired, { timeout: 1000, interval: 10 }).toBe(1);
      await server.until(() => server.stderr.includes('"error_code":"cancelled"'), "the record", 1000);
      expect(server.answersTo(id)).toEqual([]);
    },
  );

  test("of a call that waits for its turn: it leaves the queue", async () => {
    await using setup = await serve([
      "--set",
      "mcp.max_concurrent_requests=2",
      "--set",
      "mcp.limits.max_queued_requests=2",
    ]);
    const { server, cancel } = setup;
    const running = [server.askTool("wait"), server.askTool("wait")];
    const waiting = [server.askTool("brief"), server.askTool("brief")];
    const refused = server.askTool("brief");
    expect(failureOf(await server.toolResult(refused)).meta).toMatchObject({
      error_code: "busy",
      retryable: true,
    });
    for (const id of waiting) cancel(id);
    const next = [server.askTool("brief"), server.askTool("brief")];
    for (const id of running) cancel(id);
    for (const id of next) expect(textOf(await server.toolResult(id))).toBe('"done"');
    for (const id of [...running, ...waiting]) expect(server.answersTo(id)).toEqual([]);
  });

  test("before a call came to its turn: it never takes a place in the queue", async () => {
    await using setup = await serve([
      "--set",
      "mcp.max_concurrent_requests=1",
      "--set",
      "mcp.limits.max_queued_requests=2",
    ]);
    const { server, cancel } = setup;
    const running = server.askTool("wait");
    for (let i = 0; i < 10; i++) cancel(server.askTool("slowly_checked"));
    // Longer than the check of the arguments takes.
    await new Promise((resolve) => setTimeout(resolve, 150));
    const next = server.askTool("brief");
    await server.request("ping");
    cancel(running);
    expect(textOf(await server.toolResult(next))).toBe('"done"');
  });

  test("of something that does not run is harmless", async () => {
    await using setup = await serve();
    const { server } = setup;
    for (const requestId of [999, "x", null, {}, 1.5])
      server.send({ method: "notifications/cancelled", params: { requestId } });
    server.send({ method: "notifications/cancelled" });
    expect(textOf(await server.call("brief"))).toBe('"done"');
  });
});

describe.concurrent("FAIL-D6 calls that hang hold nobody up", () => {
  test("others answer while 50 hang", async () => {
    await using setup = await serve();
    const { server, begun } = setup;
    for (let i = 0; i < 25; i++) {
      server.askTool("wait");
      server.askTool("deaf");
    }
    await begun(50);
    const startedAt = performance.now();
    expect((await server.call("health")).structuredContent).toMatchObject({ data: { ok: true } });
    expect(await server.toolNames()).toContain("read_file");
    expect(textOf(await server.call("read_file", { path: "a.txt" }))).toBe("hello");
    await server.request("resources/list");
    expect(performance.now() - startedAt).toBeLessThan(2000);
  });

  test.each(["wait", "deaf"])("REQ-D18 %s: past its deadline it is answered as a timeout", async (tool) => {
    await using setup = await serve(["--set", "mcp.request_timeout_seconds=1"]);
    const { server, counts } = setup;
    const startedAt = performance.now();
    const { error, meta } = failureOf(await server.call(tool));
    expect(performance.now() - startedAt).toBeGreaterThan(900);
    expect(meta).toMatchObject({ error_code: "timeout", retryable: true });
    expect(error).toContain("1 s");
    expect((await counts()).fired).toBe(1);
  });

  test("a place is free again after the deadline of a call that never ends", async () => {
    await using setup = await serve([
      "--set",
      "mcp.request_timeout_seconds=1",
      "--set",
      "mcp.max_concurrent_requests=2",
    ]);
    const { server } = setup;
    const deaf = [server.askTool("deaf"), server.askTool("deaf")];
    for (const id of deaf) expect(failureOf(await server.toolResult(id)).meta.error_code).toBe("timeout");
    expect(textOf(await server.call("brief"))).toBe('"done"');
  });
});

describe("FAIL-D11 200 parallel calls", () => {
  test("are all answered: some with results, the others as busy, and in bounded time", async () => {
    await using setup = await serve([
      "--set",
      "mcp.max_concurrent_requests=4",
      "--set",
      "mcp.limits.max_queued_requests=10",
    ]);
    const { server } = setup;
    const ids = Array.from({ length: 200 }, () => server.askTool("brief"));
    const results = await Promise.all(ids.map((id) => server.toolResult(id)));
    const done = results.filter(({ isError }) => isError !== true);
    const busy = results.filter(({ isError }) => isError === true).map(failureOf);
    expect(done.length).toBeGreaterThanOrEqual(14);
    expect(busy.length).toBeGreaterThan(0);
    for (const { meta } of busy) expect(meta).toMatchObject({ error_code: "busy", retryable: true });
    expect(textOf(await server.call("brief"))).toBe('"done"');
  });

  test("of the default size are all done", async () => {
    await using setup = await serve();
    const { server } = setup;
    const ids = Array.from({ length: 200 }, () => server.askTool("brief"));
    for (const id of ids) expect(textOf(await server.toolResult(id))).toBe('"done"');
  });
});
