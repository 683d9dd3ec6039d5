import { setImmediate as soon } from "node:timers/promises";
import { expect, test } from "vitest";
import { ChildSlots } from "./child-slots.ts";

const never = new AbortController().signal;

/** The slots of one depth, beside so many free slots of analyses, and what runs in them until it is ended. */
const openSlots = (free: number) => {
  let taken = 0;
  const ofAnalyses = {
    tryTake: () => {
      if (taken >= free) return false;
      taken++;
      return true;
    },
    give: () => {
      taken--;
    },
  };
  const slots = new ChildSlots({ maxChars: 100, slots: ofAnalyses });
  const running = new Map<string, () => void>();
  const start = (name: string, chars = 1, signal = never): Promise<void> =>
    slots.run(chars, signal, async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      running.set(name, resolve);
      await promise;
      running.delete(name);
    });
  const end = async (name: string): Promise<void> => {
    running.get(name)?.();
    await soon();
  };
  return { start, end, running: () => [...running.keys()].join(""), taken: () => taken };
};

test("REQ-L4 FAIL-G2: one analysis of a depth runs without a slot of its own, the others in those that are free, in order", async () => {
  const { start, end, running, taken } = openSlots(1);
  const all = Promise.all(["a", "b", "c", "d"].map((name) => start(name)));
  await soon();
  expect([running(), taken()]).toEqual(["ab", 1]);
  await end("a");
  expect([running(), taken()]).toEqual(["bc", 1]);
  await end("c");
  expect([running(), taken()]).toEqual(["bd", 1]);
  await end("b");
  expect([running(), taken()]).toEqual(["d", 0]);
  await end("d");
  await all;
  const alone = openSlots(0);
  const both = Promise.all([alone.start("a"), alone.start("b")]);
  await soon();
  expect(alone.running()).toBe("a");
  await alone.end("a");
  expect(alone.running()).toBe("b");
  await alone.end("b");
  await both;
});

test("REQ-L3 FAIL-G1: texts of analyses that run at once are bounded together; a longer one runs alone", async () => {
  const { start, end, running, taken } = openSlots(9);
  const all = Promise.all([start("a", 60), start("b", 50), start("c", 500), start("d", 40), start("e", 60)]);
  await soon();
  expect([running(), taken()]).toEqual(["a", 0]);
  await end("a");
  expect(running()).toBe("b");
  await end("b");
  expect(running()).toBe("c");
  await end("c");
  expect([running(), taken()]).toEqual(["de", 1]);
  await end("d");
  await end("e");
  await all;
  expect(taken()).toBe(0);
});

test("REQ-L4 FAIL-D5: one that is ended while it waits lets those behind it go, and too many are refused", async () => {
  const { start, end, running } = openSlots(9);
  const ended = new AbortController();
  const first = start("a", 60);
  const gone = expect(start("b", 60, ended.signal)).rejects.toThrow("ended");
  const last = start("c", 40);
  await soon();
  expect(running()).toBe("a");
  ended.abort(new Error("ended"));
  await gone;
  expect(running()).toBe("ac");
  const waiting = Array.from({ length: 1000 }, (_, at) => start(`w${at}`, 100, ended.signal).catch(() => {}));
  await Promise.all(waiting);
  const more = new AbortController();
  const kept = Array.from({ length: 1000 }, (_, at) => start(`w${at}`, 100, more.signal).catch(() => {}));
  await soon();
  await expect(start("x")).rejects.toMatchObject({ code: "busy" });
  more.abort(new Error("ended"));
  await Promise.all(kept);
  await end("a");
  await end("c");
  await Promise.all([first, last]);
});
