import { describe, expect, test } from "vitest";
import { createIndexed, request } from "../../test/retrieval.ts";
import { setDeadline } from "../base/deadline-of.ts";
import { startWaiting } from "./index/wait-for.ts";
import { searchInTime } from "./search-in-time.ts";

const signalFor = (ms: number): AbortSignal => {
  const { signal } = new AbortController();
  setDeadline(signal, performance.timeOrigin + performance.now() + ms);
  return signal;
};

describe("REQ-R11 FAIL-D6: a search answers before its deadline", () => {
  test("also while the engine itself cannot answer at all", async () => {
    const startedMs = performance.now();
    const search = searchInTime({
      search: async (_request, _signal, onProgress) => {
        onProgress?.({ phase: "index", done: 3, total: 1200 });
        return new Promise(() => {});
      },
    });
    const answer = await search(request("flamingo"), signalFor(4000));
    expect(performance.now() - startedMs).toBeLessThan(4000);
    expect(answer).toEqual({
      value: [],
      index: { state: "building", done: 3, total: 1200 },
      notes: ["Not indexed yet, and not found: 1,197 of 1,200 files. Ask again in a moment."],
      end: "all",
    });
  });

  test("with what is indexed so far, however long the settings let it wait", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 6000 }, (_, i) => [
        `f${i}.ts`,
        `export const flamingo${i} = () => ${i};\n`.repeat(20),
      ]),
    );
    await using indexed = createIndexed(files, { waitMs: 600_000 });
    const startedMs = performance.now();
    const { index, notes } = await indexed.retrieval.search(request("flamingo"), signalFor(3000));
    expect(performance.now() - startedMs).toBeLessThan(3000);
    expect(index.state).toBe("building");
    expect(notes[0]).toMatch(/^Not indexed yet, and not found: /);
  });

  test("and an answer or a failure that comes in time is passed on", async () => {
    const { notes } = await searchInTime({
      search: async () => ({
        value: [],
        index: { state: "ready", done: 1, total: 1 },
        notes: ["own"],
        end: "all",
      }),
    })(request("flamingo"), signalFor(5000));
    expect(notes).toEqual(["own"]);
    const failing = searchInTime({ search: () => Promise.reject(new Error("broken")) });
    await expect(failing(request("flamingo"), signalFor(5000))).rejects.toThrow("broken");
  });

  test("waiting ends before the deadline, however often it is begun", async () => {
    const left = startWaiting(60_000, signalFor(1000));
    expect(left()).toBeLessThanOrEqual(700);
    expect(startWaiting(60_000, signalFor(12_000))()).toBeGreaterThan(6000);
    expect(startWaiting(60_000, signalFor(30_000))()).toBeLessThanOrEqual(25_000);
    expect(startWaiting(50, undefined)()).toBeLessThanOrEqual(50);
  });
});
