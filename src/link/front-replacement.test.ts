import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { Child } from "./child.ts";
import { createClientLines } from "./client-lines.ts";
import { Fronts } from "./fronts.ts";
import { encodeRecord } from "./relay-records.ts";

/** Longer than any test. */
const FOREVER_MS = 1_000_000;

/** Fronts that say nothing but what a test has them say. */
const playFronts = async (maxQuestionMs?: number) => {
  const outputs: PassThrough[] = [];
  const ignore = (): void => {};
  const fronts = new Fronts({
    lines: createClientLines(),
    start: async (count) => {
      const output = new PassThrough();
      outputs.push(output);
      const child: Child = {
        pid: count,
        input: new PassThrough().resume(),
        output,
        kill: ignore,
        exited: new Promise(ignore),
      };
      return { ...child, socketPath: "" };
    },
    hello: () => "{}",
    snapshot: () => undefined,
    core: () => ({ isReady: true, generation: 1 }),
    ...(maxQuestionMs !== undefined && { maxQuestionMs }),
    onMessage: ignore,
    onSettled: ignore,
    onSeen: ignore,
    onFailedStart: ignore,
    onStarted: ignore,
    onEnded: ignore,
    onMisfit: ignore,
  });
  await fronts.start();
  const say = async (
    front: number,
    ...records: readonly (readonly [string, ...number[]])[]
  ): Promise<void> => {
    for (const [kind, ...fields] of records)
      for (const part of encodeRecord(kind, fields)) outputs[front - 1]?.write(part);
    // A record is read in a later turn.
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { fronts, say, started: () => outputs.length };
};

test("REQ-I9 a front that waits for its user's answer is replaced once the answer has come", async () => {
  const { fronts, say, started } = await playFronts(FOREVER_MS);
  await say(1, ["Q", 1]);
  await fronts.replace();
  expect(started()).toBe(1);
  await say(1, ["Q", 0]);
  await expect.poll(started).toBe(2);
  await say(2, ["H"], ["O", 1]);
  expect(fronts.pid).toBe(2);
});

test("REQ-I9 FAIL-H1 questions that a front claims for ever do not keep it in its place", async () => {
  const { fronts, say, started } = await playFronts(1);
  await say(1, ["Q", 1]);
  await fronts.replace();
  await expect.poll(started).toBe(2);
  await say(2, ["H"], ["O", 1]);
  expect(fronts.pid).toBe(2);
});

test("REQ-I9 FAIL-H1 what a front says of questions counts for nothing where it has none to ask: over HTTP", async () => {
  const { fronts, say, started } = await playFronts();
  await say(1, ["Q", 1]);
  await fronts.replace();
  expect(started()).toBe(2);
});
