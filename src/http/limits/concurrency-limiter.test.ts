import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createConcurrencyLimiter } from "./concurrency-limiter.ts";

const gated = () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { promise, open: resolve };
};

const never = new AbortController().signal;

describe("REQ-H3: the concurrency limit of a token", () => {
  test("runs so many, lets so many wait, and refuses one more; other tokens are not held up", async () => {
    const refused: string[] = [];
    const limiter = createConcurrencyLimiter(
      () => ({ maxRunning: 2, maxWaiting: 1, maxWaitMs: 10_000 }),
      (name) => refused.push(name),
    );
    const gate = gated();
    let running = 0;
    const work = async () => {
      running++;
      await gate.promise;
      return "done";
    };
    const first = [1, 2, 3].map(() => limiter.run("a", never, work));
    await turn();
    expect(running).toBe(2);
    await expect(limiter.run("a", never, work)).rejects.toMatchObject({ code: "rate_limited" });
    expect(refused).toEqual(["a"]);
    const other = limiter.run("b", never, work);
    await turn();
    expect(running).toBe(3);
    gate.open();
    expect(await Promise.all([...first, other])).toEqual(["done", "done", "done", "done"]);
    expect(running).toBe(4);
  });

  test("a client that goes leaves the queue; a failure releases its slot", async () => {
    const limiter = createConcurrencyLimiter(
      () => ({ maxRunning: 1, maxWaiting: 1, maxWaitMs: 10_000 }),
      () => {},
    );
    const gate = gated();
    const first = limiter.run("a", never, () => gate.promise);
    const gone = new AbortController();
    const waiting = limiter.run("a", gone.signal, async () => "never");
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
    const next = limiter.run("a", never, () => Promise.reject(new Error("broken")));
    gate.open();
    await first;
    await expect(next).rejects.toThrow("broken");
    expect(await limiter.run("a", never, async () => "free")).toBe("free");
  });

  test("what was started in a slot keeps it, and nothing starts in a slot that was released", async () => {
    const limiter = createConcurrencyLimiter(
      () => ({ maxRunning: 1, maxWaiting: 0, maxWaitMs: 10_000 }),
      () => {},
    );
    const gate = gated();
    let begun: Promise<void> | undefined;
    const hold = await limiter.run("a", never, async (held) => {
      begun = held(() => gate.promise);
      return held;
    });
    await expect(limiter.run("a", never, async () => {})).rejects.toMatchObject({ code: "rate_limited" });
    gate.open();
    await begun;
    expect(await limiter.run("a", never, async () => "free")).toBe("free");
    await expect(hold(async () => {})).rejects.toMatchObject({ code: "cancelled" });
  });

  test("nobody waits longer than a call may take", async () => {
    const limiter = createConcurrencyLimiter(
      () => ({ maxRunning: 1, maxWaiting: 1, maxWaitMs: 5 }),
      () => {},
    );
    const gate = gated();
    const first = limiter.run("a", never, () => gate.promise);
    await expect(limiter.run("a", never, async () => {})).rejects.toMatchObject({ code: "rate_limited" });
    gate.open();
    await first;
  });
});
