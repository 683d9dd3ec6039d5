import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createLineClock } from "./line-clock.ts";

test("REQ-D18 the time that a line waits for others does not count as its own", async () => {
  const clock = createLineClock(500);
  const resume = clock.pause();
  const left = clock.leftMs();
  await sleep(700);
  expect(clock.signal.aborted).toBe(false);
  expect(clock.leftMs()).toBe(left);
  resume();
  resume();
  expect(clock.waitLeftMs()).toBeLessThan(0);
  await once(clock.signal, "abort");
  // Timers know whole milliseconds, and may be one early.
  expect(clock.leftMs()).toBeLessThanOrEqual(2);
});

test("REQ-D18 a line that has ended has no deadline any more", async () => {
  const clock = createLineClock(50);
  clock.end();
  await sleep(100);
  expect(clock.signal.aborted).toBe(false);
});
