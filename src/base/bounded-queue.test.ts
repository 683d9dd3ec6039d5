import { describe, expect, test } from "vitest";
import { createBoundedQueue } from "./bounded-queue.ts";

const held = () => {
  let release = (): void => {};
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { until, release };
};

describe("REQ-D12 FAIL-D11 a bounded queue", () => {
  test("some run, some wait, one more is refused as retryable, and all that waited run in the end", async () => {
    const { run } = createBoundedQueue(() => ({ maxRunning: 2, maxWaiting: 3 }));
    const gate = held();
    let running = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      most = Math.max(most, ++running);
      await gate.until;
      running--;
    };
    const taken = Array.from({ length: 5 }, () => run(work, undefined));
    await expect(run(work, undefined)).rejects.toMatchObject({ code: "busy", retryable: true });
    gate.release();
    await Promise.all(taken);
    expect([most, running]).toEqual([2, 0]);
    await run(async () => {}, undefined);
  });

  test("whoever gives up while waiting makes room for others, and so does work that fails", async () => {
    const { run } = createBoundedQueue(() => ({ maxRunning: 1, maxWaiting: 1 }));
    const gate = held();
    const first = run(async () => {
      await gate.until;
      throw new Error("failed");
    }, undefined);
    const stop = new AbortController();
    let ran = false;
    const second = run(async () => {
      ran = true;
    }, stop.signal);
    stop.abort();
    await expect(second).rejects.toMatchObject({ code: "cancelled" });
    const third = run(async () => "third", undefined);
    gate.release();
    await expect(first).rejects.toThrow("failed");
    expect([await third, ran]).toEqual(["third", false]);
    await expect(run(async () => {}, AbortSignal.abort())).rejects.toMatchObject({ code: "cancelled" });
  });
});
