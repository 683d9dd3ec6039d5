import { describe, expect, test } from "vitest";
import { createTurns } from "./turns.ts";

const held = () => {
  let release = (): void => {};
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { until, release };
};

describe("REQ-D12 FAIL-D11 turns", () => {
  test("so many run, so many wait, one more is refused as retryable, and all that waited come to their turn", async () => {
    const take = createTurns({ maxRunning: 2, maxWaiting: 3 });
    const gate = held();
    let running = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      most = Math.max(most, ++running);
      await gate.until;
      running--;
    };
    const taken = Array.from({ length: 5 }, () => take(work, undefined));
    await expect(take(work, undefined)).rejects.toMatchObject({ code: "busy", retryable: true });
    gate.release();
    await Promise.all(taken);
    expect([most, running]).toEqual([2, 0]);
    await take(async () => {}, undefined);
  });

  test("whoever gives up while waiting leaves its place to others, and a failure frees its own", async () => {
    const take = createTurns({ maxRunning: 1, maxWaiting: 1 });
    const gate = held();
    const first = take(async () => {
      await gate.until;
      throw new Error("failed");
    }, undefined);
    const stop = new AbortController();
    let ran = false;
    const second = take(async () => {
      ran = true;
    }, stop.signal);
    stop.abort();
    await expect(second).rejects.toMatchObject({ code: "cancelled" });
    const third = take(async () => "third", undefined);
    gate.release();
    await expect(first).rejects.toThrow("failed");
    expect([await third, ran]).toEqual(["third", false]);
    await expect(take(async () => {}, AbortSignal.abort())).rejects.toMatchObject({ code: "cancelled" });
  });
});
