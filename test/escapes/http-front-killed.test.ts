import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { connectVersion1, connectVersion2, type Peer } from "../conformance/peers.ts";
import { type DoorProcess, startHttpDoor, TOKEN, UNLIMITED } from "../doors/http-door.ts";
import { rounds } from "../rounds.ts";
import { confinedFrontsOf, descendantsOf, descriptorsOf, frontsOf, isAlive } from "../server-parts.ts";

const AT_ONCE = 4;
/** Longer than a front takes to start on a busy machine. */
const GIVE_UP_MS = 20_000;

const HEADERS = { "x-llmc-token": TOKEN };

const CLIENTS = [
  ["1.x, with a session", (url: URL) => connectVersion1(url, HEADERS)],
  ["2.x, with a session", (url: URL) => connectVersion2(url, "legacy", HEADERS)],
  ["2.x, without sessions", (url: URL) => connectVersion2(url, "modern", HEADERS)],
] as const;

const openDoor = (args: readonly string[] = []): Promise<DoorProcess> =>
  startHttpDoor({
    args: [...UNLIMITED, "--mode", "classic", ...args],
    files: { "a.txt": "hello\n", "log.txt": "" },
  });

const countLines = (text: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const line of text.split("\n").filter(Boolean)) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
};

/** Which appends were acknowledged; a connection that broke says nothing of what became of its call. */
const makeCalls = async (peer: Peer, count: number, isOver: () => boolean) => {
  const acknowledged: number[] = [];
  let [next, broken] = [0, 0];
  const work = async (): Promise<void> => {
    while (next < count || !isOver()) {
      const i = next++;
      const isAppend = i % 4 === 0;
      const asked = isAppend
        ? peer.call("linux_fs_write", { path: "log.txt", content: `${i}\n`, mode: "append" })
        : peer.call("read_file", { path: "a.txt" });
      const gaveUp = sleep(GIVE_UP_MS, "gave up", { ref: false });
      const answer = await Promise.race([asked, gaveUp]).catch(() => "broken");
      if (answer === "gave up" || answer === "broken") {
        broken++;
        // A client that finds nobody waits a little before it tries again.
        await sleep(20);
      } else if (isAppend) acknowledged.push(i);
      else expect(answer).toBe("hello\n");
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { acknowledged, broken, asked: next };
};

const killAgain = async (door: DoorProcess, times: number): Promise<void> => {
  let last: number | undefined;
  for (let kills = 0; kills < times; ) {
    const [pid] = confinedFrontsOf(door);
    if (pid === undefined || pid === last) {
      await sleep(10);
      continue;
    }
    last = pid;
    // Every third time while it starts.
    if (kills % 3 !== 0) await door.get("/health").catch(() => {});
    await sleep(Math.random() * 100);
    if (!isAlive(pid)) continue;
    process.kill(pid, "SIGKILL");
    kills++;
  }
};

/** What the core has open when nothing is being started and no client is connected. */
const settledDescriptors = async (door: DoorProcess): Promise<number> => {
  const core = door.process.pid ?? 0;
  for (;;) {
    const now = descriptorsOf(core).length;
    await sleep(500);
    if (descriptorsOf(core).length === now && frontsOf(door).length === 1) return now;
  }
};

describe("FAIL-H2 REQ-I9 the front of the HTTP door is killed under load", () => {
  test.each(CLIENTS)(
    "a client of %s goes on: no append that was acknowledged is lost, none is done twice, and nothing is left over",
    { timeout: rounds(180_000, 1_200_000) },
    async (_, connect) => {
      await using door = await openDoor();
      // Code is compiled by a front of its own, three seconds after the start.
      await sleep(3500);
      const before = await settledDescriptors(door);
      const peer = await connect(new URL(`${door.url}/mcp`));
      let isOver = false;
      const killing = killAgain(door, rounds(6, 34)).finally(() => {
        isOver = true;
      });
      const { acknowledged, broken, asked } = await makeCalls(peer, rounds(200, 3400), () => isOver);
      await killing;
      expect(broken).toBeLessThan(asked / 2);
      const lines = countLines(readFileSync(join(door.root, "log.txt"), "utf8"));
      for (const i of acknowledged) expect(lines.get(String(i)), `append ${i}`).toBe(1);
      for (const [line, count] of lines) expect(count, `append ${line}`).toBe(1);
      // The session of before is still there.
      expect(await peer.tools()).toContain("read_file");
      expect(await peer.call("read_file", { path: "a.txt" })).toBe("hello\n");
      await peer.close();
      // The link keeps connections that were in use for the next requests.
      expect(await settledDescriptors(door)).toBeLessThan(before + 20);
      expect(frontsOf(door)).toHaveLength(1);
      const parts = descendantsOf(door.process.pid ?? 0);
      door.process.kill("SIGTERM");
      expect(await door.exited).toBe(0);
      for (const pid of parts) expect(isAlive(pid)).toBe(false);
    },
  );
});

describe("REQ-I9 REQ-I1 the front of the HTTP door is exchanged", () => {
  const untilExchanged = async (door: DoorProcess, before: number): Promise<void> => {
    const answered = (): boolean => door.logs().includes("the front was replaced");
    for (const since = Date.now(); !answered() && Date.now() - since < GIVE_UP_MS; ) await sleep(50);
    expect(frontsOf(door).filter((pid) => pid === before)).toEqual([]);
  };

  test("kill -HUP starts another one, no request fails, and the session goes on", async () => {
    await using door = await openDoor();
    const peer = await connectVersion1(new URL(`${door.url}/mcp`), HEADERS);
    const [before = 0] = confinedFrontsOf(door);
    let isOver = false;
    const failures: string[] = [];
    const asking = (async () => {
      while (!isOver) {
        const outcome = await door.get("/health", { connection: "close" }).then(
          async (answer) => (answer.ok ? "" : `${answer.status} ${await answer.text()}`),
          (thrown: Error) => `${thrown} ${thrown.cause}`,
        );
        if (outcome !== "") failures.push(outcome);
      }
    })();
    door.process.kill("SIGHUP");
    for (const since = Date.now(); confinedFrontsOf(door)[0] === before && Date.now() - since < GIVE_UP_MS; )
      await sleep(50);
    expect(await peer.call("read_file", { path: "a.txt" })).toBe("hello\n");
    await peer.close();
    await untilExchanged(door, before);
    isOver = true;
    await asking;
    expect(failures).toEqual([]);
  }, 60_000);

  test("REQ-O1 connections are counted with both, as long as the old one has some", async () => {
    await using door = await openDoor();
    const counted = async (): Promise<number> => {
      const page = await (await door.get("/metrics", { connection: "close" })).text();
      return Number(/^llmc_http_connections (\d+)/m.exec(page)?.[1]);
    };
    /** Connections with a request that does not end. */
    const hold = async (count: number): Promise<readonly Socket[]> => {
      const head = `POST /tool HTTP/1.1\r\nHost: localhost\r\nX-LLMC-Token: ${TOKEN}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`;
      const sockets = Array.from({ length: count }, () => connect(door.port, "127.0.0.1"));
      for (const socket of sockets) socket.on("error", () => {}).write(head);
      await Promise.all(sockets.map((socket) => once(socket, "connect")));
      return sockets;
    };
    const [before = 0] = confinedFrontsOf(door);
    const old = await hold(10);
    await expect.poll(counted).toBeGreaterThanOrEqual(10);
    door.process.kill("SIGHUP");
    await expect.poll(() => confinedFrontsOf(door).find((pid) => pid !== before)).toBeDefined();
    const further = await hold(5);
    await expect.poll(counted).toBeGreaterThanOrEqual(15);
    for (const socket of old.slice(0, 5)) socket.destroy();
    await expect.poll(counted).toBeLessThan(15);
    expect(await counted()).toBeGreaterThanOrEqual(10);
    for (const socket of [...old, ...further]) socket.destroy();
  }, 60_000);

  test("it is confined where that is asked for", async () => {
    await using door = await openDoor(["--set", "mcp.sandbox_enabled=true"]);
    const [front = 0] = confinedFrontsOf(door);
    expect(readFileSync(`/proc/${front}/status`, "utf8")).toMatch(/^Seccomp:\s+2$/m);
    expect(readFileSync(`/proc/${front}/status`, "utf8")).toMatch(/^NoNewPrivs:\s+1$/m);
  });
});
