import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Era, encode, idsGiven, type Line, lines } from "../doors/fuzz-lines.ts";
import { rounds } from "../rounds.ts";
import { MODERN_META, type Server, type ServerProcess } from "../server.ts";
import { coreOf } from "../server-parts.ts";
import { createWorkspace, type Workspace } from "../workspace.ts";

const start = async (workspace: Workspace, era: Era): Promise<ServerProcess> => {
  const server = await workspace.start({
    args: ["--mode", "classic", "--set", "mcp.logging.level=error"],
    // Memory that is not given back would end the supervisor or the core here; a front has a smaller heap of its own.
    env: { NODE_OPTIONS: "--max-old-space-size=160" },
    handshake: era === "2025-11-25",
  });
  if (era === "2026-07-28") {
    await server.request("server/discover", { _meta: MODERN_META });
    await server.request("tools/list", { _meta: MODERN_META });
  }
  return server;
};

/** Whether one of its programs has ended: the supervisor starts it again, and the client would notice nothing. */
const hasFallen = ({ stderr }: Server): boolean => /the (?:front|core) ended/.test(stderr);

/** Sends the lines in pieces that do not end where the lines end, then checks every promise. */
const check = async (
  server: Server,
  given: readonly Line[],
  pieces: readonly number[],
  era: Era,
): Promise<void> => {
  const sent = given.map((one) => ({ ...one, ...encode(one) }));
  let rest = Buffer.concat(sent.map(({ bytes }) => bytes));
  for (const size of pieces) {
    server.write(rest.subarray(0, size));
    rest = rest.subarray(size);
  }
  server.write(rest);

  const alive = await server.request(
    "tools/call",
    {
      name: "read_file",
      arguments: { path: "a.txt" },
      ...(era === "2026-07-28" ? { _meta: MODERN_META } : {}),
    },
    10_000,
  );
  expect(alive.result?.["content"]).toEqual([{ type: "text", text: "hello" }]);
  for (const { kind, text, ids, owes } of sent) {
    const what = `${kind}: ${text.slice(0, 300)}`;
    for (const id of owes === "one" ? ids : []) await server.answer(id, 3000).catch(() => {});
    for (const id of ids) {
      const count = server.answersTo(id).length;
      if (owes === "one") expect(count, what).toBe(1);
      else expect(count, what).toBeLessThanOrEqual(owes === "none" ? 0 : 1);
    }
  }
  expect(server.strays).toEqual([]);
  expect(hasFallen(server), server.stderr).toBe(false);
};

describe.each<Era>(["2025-11-25", "2026-07-28"])("FAIL-D2 frames of %s", (era) => {
  test(
    "no frame ends the server, confuses the stream or leaves a request unanswered",
    async () => {
      await using workspace = await createWorkspace({ "a.txt": "hello" });
      let server = await start(workspace, era);
      const core = coreOf(server);
      const first = idsGiven();
      const property = fc
        .asyncProperty(
          fc.array(lines(era), { minLength: 1, maxLength: 20, size: "max" }),
          fc.array(fc.nat(500), { maxLength: 4 }),
          (given, pieces) => check(server, given, pieces, era),
        )
        .beforeEach(async () => {
          // Only after a failure: what it shrinks to is tried on a server that is well.
          if (server.hasExited || hasFallen(server)) server = await start(workspace, era);
        });
      await fc.assert(property, {
        numRuns: rounds(100, 1400),
        interruptAfterTimeLimit: rounds(60_000, 300_000),
        markInterruptAsFailure: true,
      });
      const last = idsGiven();
      expect(last - first).toBeGreaterThan(rounds(700, 10_000));
      // Answers to one id that came late would show here.
      for (let n = first; n < last; n++)
        expect(server.answersTo(`f${n}`).length, `f${n}`).toBeLessThanOrEqual(1);
      expect(core).toBeDefined();
      expect(coreOf(server)).toBe(core);
      // Of all processes, which have 280 MB when nothing was sent; three heaps that are full would be 480 MB more.
      expect(server.residentBytes()).toBeLessThan(450_000_000);
    },
    rounds(90_000, 400_000),
  );
});

describe("FAIL-D2 many frames at once", () => {
  test("10,000 good requests in one write are all answered, calls perhaps as busy", async () => {
    await using workspace = await createWorkspace();
    const server = await workspace.start({ args: ["--mode", "classic"] });
    const frames = Array.from({ length: 10_000 }, (_, i) =>
      i % 2 === 0
        ? { jsonrpc: "2.0", id: `g${i}`, method: "ping" }
        : { jsonrpc: "2.0", id: `g${i}`, method: "tools/call", params: { name: "health", arguments: {} } },
    );
    server.write(frames.map((frame) => `${JSON.stringify(frame)}\n`).join(""));
    await server.until(() => frames.every(({ id }) => server.answersTo(id).length === 1), "10,000 answers");
    expect(hasFallen(server), server.stderr).toBe(false);
    for (const { id, method } of frames) {
      const { result } = await server.answer(id);
      expect(result, id).toBeDefined();
      if (result?.["isError"] === true) expect(JSON.stringify(result), method).toContain('\\"busy\\"');
    }
    expect(server.strays).toEqual([]);
    expect(server.stderr).not.toContain("Warning");
  });

  test("a client that sends without reading stops the input, and loses nothing", async () => {
    await using workspace = await createWorkspace({ "a.txt": "x".repeat(60_000) });
    const server = await workspace.start({ args: ["--set", "mcp.limits.max_queued_requests=10000"] });
    // The first call loads the engines, which stay.
    await server.call("read_file", { path: "a.txt" });
    const before = server.residentBytes();
    server.process.stdout.pause();
    const ids = Array.from({ length: 1000 }, () => server.askTool("read_file", { path: "a.txt" }));
    await new Promise((resolve) => setTimeout(resolve, 500));
    // The answers together are 60 MB, and each lies in two or three forms in every process that holds it.
    expect(server.residentBytes() - before).toBeLessThan(60_000_000);
    server.process.stdout.resume();
    await server.until(() => ids.every((id) => server.answersTo(id).length === 1), "1,000 answers", 45_000);
    expect(server.strays).toEqual([]);
    expect(hasFallen(server), server.stderr).toBe(false);
    expect(server.stderr).not.toContain("Warning");
  });
});
