import { setImmediate as soon } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createBoundedQueue } from "../base/bounded-queue.ts";
import { evictionCandidate } from "./eviction-candidate.ts";
import { createAnalysisSlots, createProgramSlot } from "./slots.ts";

const never = new AbortController().signal;

describe("REQ-E3: the slots of programs", () => {
  const openQueue = () => createBoundedQueue(() => ({ maxRunning: 1, maxWaiting: 10 }));

  test("one that ends while it waits for its slot again does not keep it", async () => {
    const queue = openQueue();
    const [asked, other, last] = [
      createProgramSlot(queue, "a"),
      createProgramSlot(queue, "a"),
      createProgramSlot(queue, "a"),
    ];
    await asked.take(never);
    asked.give();
    await other.take(never);
    const waiting = asked.take(never);
    asked.close();
    asked.give();
    await waiting;
    other.close();
    other.give();
    await last.take(never);
    expect(queue.tryEnter("a")).toBe(false);
    last.give();
    expect(queue.tryEnter("a")).toBe(true);
  });

  test("one that ends just after its slot was granted gives it back", async () => {
    const queue = openQueue();
    const [asked, other] = [createProgramSlot(queue, "a"), createProgramSlot(queue, "a")];
    await other.take(never);
    const waiting = asked.take(never);
    other.give();
    asked.close();
    asked.give();
    await waiting;
    expect(queue.tryEnter("a")).toBe(true);
  });

  test("one whose caller gives up while it waits gets the reason, and takes nothing", async () => {
    const queue = openQueue();
    const [asked, other] = [createProgramSlot(queue, "a"), createProgramSlot(queue, "a")];
    await other.take(never);
    const controller = new AbortController();
    const waiting = asked.take(controller.signal);
    controller.abort(new Error("given up"));
    await expect(waiting).rejects.toThrow("given up");
    other.give();
    await soon();
    expect(queue.tryEnter("a")).toBe(true);
  });

  test("an analysis whose client is asked holds none; what it had besides goes on without", async () => {
    const queue = createBoundedQueue(() => ({ maxRunning: 3, maxWaiting: 10 }));
    const slots = createAnalysisSlots(queue, "a");
    await slots.take(never);
    expect([slots.tryTake(), slots.tryTake(), slots.tryTake()]).toEqual([true, true, false]);
    slots.suspend();
    expect([queue.load().running, slots.tryTake()]).toEqual([0, false]);
    slots.give();
    await slots.resume(never);
    expect(queue.load().running).toBe(1);
    slots.give();
    expect(queue.load().running).toBe(1);
    slots.give();
    expect(queue.load().running).toBe(0);
    await slots.resume(never);
    expect(queue.load().running).toBe(0);
  });

  test("an analysis that ends while it waits for its slot again does not keep it", async () => {
    const queue = openQueue();
    const [asked, other] = [createAnalysisSlots(queue, "a"), createAnalysisSlots(queue, "b")];
    await asked.take(never);
    asked.suspend();
    await other.take(never);
    const waiting = asked.resume(never);
    asked.give();
    other.give();
    await waiting;
    expect(queue.load()).toEqual({ running: 0, waiting: 0 });
  });
});

test("REQ-D25: the principal with the most loses its oldest; what is busy stays", () => {
  const all = new Map(
    Object.entries({ b1: "b", a1: "a", a2: "a", a3: "a", b2: "b" }).map(([key, principal]) => [
      key,
      { principal, isBusy: key === "a1" },
    ]),
  );
  expect(evictionCandidate(all)).toBe("a1");
  expect(evictionCandidate(all, ({ isBusy }) => !isBusy)).toBe("a2");
  for (const key of ["a1", "a2"]) all.delete(key);
  expect(evictionCandidate(all)).toBe("b1");
  expect(evictionCandidate(all, () => false)).toBeUndefined();
});
