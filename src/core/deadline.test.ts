import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { startDeadline } from "./deadline.ts";

const FAR_MS = 60_000;

describe("a deadline", () => {
  test("REQ-D18: that has passed ends the race and fires the signal with the same reason", async () => {
    const deadline = startDeadline(5, undefined);
    const { signal } = deadline;
    await expect(deadline.race(new Promise(() => {}))).rejects.toMatchObject({ code: "timeout" });
    expect(signal.reason).toMatchObject({ code: "timeout" });
    deadline.end();
  });

  test("FAIL-D5: a caller that gives up ends it; later reasons change nothing", async () => {
    const caller = new AbortController();
    const deadline = startDeadline(FAR_MS, caller.signal);
    const raced = deadline.race(new Promise(() => {}));
    caller.abort();
    await expect(raced).rejects.toMatchObject({ code: "cancelled" });
    expect(deadline.signal.reason).toMatchObject({ code: "cancelled" });
    deadline.end();
  });

  test("FAIL-D5: a caller that has given up before gets no work done", async () => {
    const deadline = startDeadline(FAR_MS, AbortSignal.abort());
    expect(deadline.signal.aborted).toBe(true);
    await expect(deadline.race("too late")).rejects.toMatchObject({ code: "cancelled" });
    deadline.end();
  });

  test("that has ended holds on to nothing and hears nothing", async () => {
    const caller = new AbortController();
    const deadline = startDeadline(FAR_MS, caller.signal);
    const { signal } = deadline;
    expect(getEventListeners(caller.signal, "abort")).toHaveLength(1);
    deadline.end();
    expect(getEventListeners(caller.signal, "abort")).toHaveLength(0);
    caller.abort();
    expect(signal.aborted).toBe(false);
  });

  test.each([
    ["a value", "done"],
    ["a promise", Promise.resolve("done")],
    // biome-ignore lint/suspicious/noThenProperty: a promise of another library is such an object.
    ["another library's promise", { then: (resolve: (value: string) => void) => resolve("done") }],
  ])("gives back %s", async (_title, work) => {
    const deadline = startDeadline(FAR_MS, undefined);
    expect(await deadline.race(work as string)).toBe("done");
    deadline.end();
  });

  test("gives back the work's own failure", async () => {
    const deadline = startDeadline(FAR_MS, undefined);
    await expect(deadline.race(Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    deadline.end();
  });
});
