import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { rounds } from "../rounds.ts";
import { failureOf, type ServerProcess, textOf, type ToolResult } from "../server.ts";
import { coreOf, descendantsOf, descriptorsOf, frontOf, isAlive } from "../server-parts.ts";
import { createWorkspace } from "../workspace.ts";

const AT_ONCE = 8;

interface Done {
  readonly i: number;
  readonly isAppend: boolean;
  readonly id: number;
  readonly result: ToolResult;
}

/** A stream of calls of a client that has a few open at any time: every fourth appends a line to a file. */
const makeCalls = async (server: ServerProcess, count: number, isOver: () => boolean): Promise<readonly Done[]> => {
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

/** Kills a process of the server again and again, each time as soon as there is a new one. */
const killAgain = async (find: () => number | undefined, times: number): Promise<void> => {
  let last: number | undefined;
  for (let kills = 0; kills < times; ) {
    const pid = find();
    if (pid !== undefined && pid !== last) {
      // At any moment of its life: while it starts, while it replays, while it works.
      await sleep(Math.random() * 400);
      process.kill(pid, "SIGKILL");
      last = pid;
      kills++;
    } else await sleep(10);
  }
};

const countLines = (text: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const line of text.split("\n").filter(Boolean)) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
};

const start = async () => {
  const workspace = await createWorkspace({ "a.txt": "hello\n", "log.txt": "" });
  const server = await workspace.start();
  await server.call("read_file", { path: "a.txt" });
  return { workspace, server, [Symbol.asyncDispose]: workspace.remove };
};

describe("FAIL-H2 REQ-I9 the front is killed under load", () => {
  test(
    "every request is answered once, no append is lost or done twice, and nothing is left over",
    { timeout: rounds(120_000, 1_200_000) },
    async () => {
      await using setup = await start();
      const { server, workspace } = setup;
      const supervisor = server.process.pid ?? 0;
      const before = descriptorsOf(supervisor);
      const coreBefore = coreOf(server);
      let isOver = false;
      const killing = killAgain(() => frontOf(server), rounds(8, 100)).then(() => {
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
      expect(descriptorsOf(supervisor)).toEqual(before);
      const parts = descendantsOf(supervisor);
      expect(await server.stop()).toEqual({ code: 0, signal: null });
      for (const pid of parts) expect(isAlive(pid)).toBe(false);
    },
  );
});

describe("FAIL-D7 REQ-I9 the core is killed under load", () => {
  test(
    "what was acknowledged is there, what is unknown is said to be, and the session goes on",
    { timeout: rounds(120_000, 600_000) },
    async () => {
      await using setup = await start();
      const { server, workspace } = setup;
      const frontBefore = frontOf(server);
      let isOver = false;
      const killing = killAgain(() => coreOf(server), rounds(3, 20)).then(() => {
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
      expect(await server.stop()).toEqual({ code: 0, signal: null });
    },
  );
});
