import { describe, expect, test } from "vitest";
import { createBoundedQueue, ONE_OF_EACH } from "./bounded-queue.ts";

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
    let peak = 0;
    const work = async (): Promise<void> => {
      peak = Math.max(peak, ++running);
      await gate.until;
      running--;
    };
    const taken = Array.from({ length: 5 }, () => run(work, undefined));
    await expect(run(work, undefined)).rejects.toMatchObject({ code: "busy", retryable: true });
    gate.release();
    await Promise.all(taken);
    expect([peak, running]).toEqual([2, 0]);
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

  test("principals take turns: who asks for much waits behind who asks for little", async () => {
    const queue = createBoundedQueue(() => ({ maxRunning: 1, maxWaiting: 9 }));
    const gate = held();
    const order: string[] = [];
    const start = (principal: string, name: string): Promise<void> =>
      queue.run(
        async () => {
          order.push(name);
          await gate.until;
        },
        undefined,
        principal,
      );
    const all = [
      ...["a1", "a2", "a3", "a4"].map((name) => start("a", name)),
      start("b", "b1"),
      start("b", "b2"),
      start("c", "c1"),
    ];
    gate.release();
    await Promise.all(all);
    expect(order).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
  });

  test("no principal holds every slot or the whole waiting room, so that another starts at once", async () => {
    const queue = createBoundedQueue(() => ({ maxRunning: 3, maxRunningEach: 2, maxWaiting: 2 }));
    expect(["a", "a", "a", "b", "b"].map((principal) => queue.tryEnter(principal))).toEqual([
      true,
      true,
      false,
      true,
      false,
    ]);
    const entered: string[] = [];
    const waiting = ["a", "a", "b", "b"].map((principal) =>
      queue.wait(undefined, principal).then(() => entered.push(principal)),
    );
    await expect(queue.wait(undefined, "a")).rejects.toMatchObject({ code: "busy" });
    // The slot that b gives back goes to b, since a has as many as it may.
    queue.release("b");
    await waiting[2];
    expect(entered).toEqual(["b"]);
    queue.release("a");
    await waiting[0];
    queue.release("a");
    await waiting[3];
    queue.release("a");
    await waiting[1];
    for (const principal of ["a", "b", "b"]) queue.release(principal);
    expect(entered).toEqual(["b", "a", "b", "a"]);
  });

  test("keys of one queue take turns each for itself", async () => {
    const queue = createBoundedQueue(() => ONE_OF_EACH);
    expect(["a", "b", "a"].map((key) => queue.tryEnter(key))).toEqual([true, true, false]);
    const entered: string[] = [];
    const waiting = ["a1", "a2", "b1"].map((name) =>
      queue.wait(undefined, name.slice(0, 1)).then(() => entered.push(name)),
    );
    queue.release("b");
    await waiting[2];
    queue.release("a");
    await waiting[0];
    expect(entered).toEqual(["b1", "a1"]);
    queue.release("a");
    await waiting[1];
  });

  test("whoever gives up leaves nothing behind, and others keep their turn", async () => {
    const queue = createBoundedQueue(() => ({ maxRunning: 1, maxWaiting: 1 }));
    queue.tryEnter("a");
    const stop = new AbortController();
    const left = queue.wait(stop.signal, "b");
    const stayed = queue.wait(undefined, "c");
    stop.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    queue.release("a");
    await stayed;
    queue.release("c");
  });
});
