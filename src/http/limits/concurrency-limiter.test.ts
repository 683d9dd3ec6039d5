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

  test("what was started in a slot keeps it when its request has ended, and what goes on later takes one again", async () => {
    const limiter = createConcurrencyLimiter(
      () => ({ maxRunning: 1, maxWaiting: 0, maxWaitMs: 10_000 }),
      () => {},
    );
    const [gate, other] = [gated(), gated()];
    let begun: Promise<void> | undefined;
    const slot = await limiter.run("a", never, async (held) => {
      begun = held.hold(() => gate.promise);
      return held;
    });
    await expect(limiter.run("a", never, async () => {})).rejects.toMatchObject({ code: "rate_limited" });
    gate.open();
    await begun;
    const running = limiter.run("a", never, () => other.promise);
    let isBack = false;
    const back = slot.hold(async () => {
      isBack = true;
    });
    const gone = new AbortController();
    const givenUp = slot.hold(async () => "never", gone.signal);
    gone.abort();
    await expect(givenUp).rejects.toMatchObject({ code: "cancelled" });
    expect(isBack).toBe(false);
    other.open();
    await Promise.all([running, back]);
    expect(isBack).toBe(true);
    expect(await limiter.run("a", never, async () => "free")).toBe("free");
  });

  test("what waits for its client gives its slot to others, up to a bound, and comes back even where many wait", async () => {
    const limiter = createConcurrencyLimiter(
      () => ({ maxRunning: 1, maxWaiting: 0, maxWaitMs: 10_000 }),
      () => {},
    );
    const [answer, other] = [gated(), gated()];
    const asking = Array.from({ length: 32 }, () =>
      limiter.run("a", never, async (slot) => {
        await slot.leave(() => answer.promise);
        return slot.hold(async () => "answered");
      }),
    );
    await turn();
    const running = limiter.run("a", never, (slot) => slot.leave(() => other.promise));
    // One more than may wait without a slot keeps its own.
    await expect(limiter.run("a", never, async () => {})).rejects.toMatchObject({ code: "rate_limited" });
    answer.open();
    await turn();
    other.open();
    await running;
    expect(new Set(await Promise.all(asking))).toEqual(new Set(["answered"]));
    expect(await limiter.run("a", never, async () => "free")).toBe("free");
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
