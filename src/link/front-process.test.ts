import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { createClientLines } from "./client-lines.ts";
import { createFront, deliverTo, type FrontParts, replayTo, takeFor } from "./front-process.ts";

const ignore = (): void => {};

const playFront = (id: number) => {
  const input = new PassThrough();
  let received = "";
  input.on("data", (chunk: Buffer) => {
    received += chunk.toString();
  });
  const exited = new Promise<never>(ignore);
  const child = { pid: id, input, output: new PassThrough(), kill: ignore, exited, socketPath: "" };
  return { front: createFront(id, child, ignore), received: () => received };
};

test("REQ-I9 FAIL-D7 of the lines that a front has read, only those of the negotiation are remembered", async () => {
  const lines = createClientLines();
  const parts: FrontParts = {
    lines,
    start: () => Promise.reject(new Error("not started here")),
    hello: () => "{}",
    snapshot: () => undefined,
    core: () => ({ isReady: true, generation: 1 }),
    onMessage: ignore,
    onSettled: ignore,
    onSeen: ignore,
    onFailedStart: ignore,
    onStarted: ignore,
    onEnded: ignore,
    onMisfit: ignore,
  };
  const [first, second] = [playFront(1), playFront(2)];
  const say = (kind: string, n: number): void => {
    const line = lines.find(n);
    if (line !== undefined)
      takeFor(first.front, line, { kind, fields: [String(n)], payload: Buffer.from("{}") }, parts);
  };
  for (let n = 1; n <= 100; n++) {
    deliverTo(first.front, lines.add(Buffer.from(`line ${n}`)), 1);
    if (n === 7) say("K", n);
    say("A", n);
  }
  expect([...first.front.negotiated]).toEqual([7]);
  // The one that has read it does not read it again, and the next one does, once.
  for (const { front } of [first, second, second]) replayTo(front, parts, () => true);
  await expect.poll(second.received).toBe("R 7 line 7\n");
  expect(first.received()).not.toContain("R 7");
});
