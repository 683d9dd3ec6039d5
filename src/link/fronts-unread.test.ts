import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { createClientLines } from "./client-lines.ts";
import type { FrontChild } from "./front-process.ts";
import { Fronts } from "./fronts.ts";

const LINE = Buffer.alloc(100_000, "x");
const LINES = 300;
const MAX_BYTES = 20 * 1024 * 1024;

test("FAIL-H1 FAIL-J9 a front that answers lines which it has not read gets no more of them until it reads", async () => {
  const lines = createClientLines();
  const input = new PassThrough();
  const output = new PassThrough();
  const exited = new Promise<never>(() => {});
  const child = { pid: 1, input, output, kill: () => {}, exited, socketPath: "" } as unknown as FrontChild;
  const ignore = (): void => {};
  const fronts = new Fronts({
    lines,
    start: async () => child,
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
  });
  await fronts.start();
  for (let n = 1; n <= LINES; n++) {
    fronts.add(lines.add(LINE));
    output.write(`T ${n}\nD ${n}\n`);
  }
  await expect.poll(() => output.readableLength).toBe(0);
  expect(input.writableLength).toBeLessThan(MAX_BYTES);
  expect(lines.count()).toBeGreaterThan(0);

  let read = 0;
  input.on("data", (chunk: Buffer) => {
    read += chunk.length;
    for (const { n } of lines.open()) output.write(`D ${n}\n`);
  });
  await expect.poll(() => lines.count(), { timeout: 20_000 }).toBe(0);
  expect(read).toBeGreaterThan(LINES * LINE.length);
});
