import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createJobThread } from "./job-thread.ts";
import { startThread, type Thread } from "./thread.ts";

type Method<Takes, Gives, Emits = never> = {
  readonly takes: Takes;
  readonly gives: Gives;
  readonly emits: Emits;
};

type TestMethods = {
  readonly double: Method<number, number>;
  readonly fail: Method<"known" | "unknown", never>;
  readonly count: Method<number, string, number>;
  readonly hang: Method<null, never>;
  readonly die: Method<null, never>;
  readonly untilStopped: Method<null, string>;
};

const SERVE = pathToFileURL(join(import.meta.dirname, "serve-thread.ts")).href;
const ERROR = pathToFileURL(join(import.meta.dirname, "../../base/error.ts")).href;

const ENTRY = `
  import { serveThread } from ${JSON.stringify(SERVE)};
  import { LlmcError } from ${JSON.stringify(ERROR)};
  serveThread((data) => ({
    handlers: {
      double: (n) => n * data.factor,
      fail: (kind) => {
        if (kind === "known") throw new LlmcError("file_not_found", "Nothing there.", { hint: "Look.", details: { n: 1 } });
        throw new TypeError("odd");
      },
      count: async (n, { emit }) => {
        for (let i = 0; i < n; i++) emit(i);
        return "done";
      },
      hang: () => { for (;;); },
      die: () => process.exit(3),
      untilStopped: (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("stopped"))),
    },
    close: async () => {},
  }));`;

describe("threads", () => {
  const folder = mkdtempSync(join(tmpdir(), "llmc-threads-"));
  const entry = join(folder, "entry.mjs");
  let thread: Thread<TestMethods>;
  beforeAll(() => {
    writeFileSync(entry, ENTRY);
    thread = startThread<TestMethods>({ entry, name: "test", data: { factor: 2 } });
  });
  afterAll(async () => {
    await thread.close();
    rmSync(folder, { recursive: true });
  });

  const openJobs = (jobTimeoutMs: number) =>
    createJobThread<TestMethods>({ entry, name: "test", data: { factor: 2 }, jobTimeoutMs, idleMs: 60_000 });

  test("answers calls, and tells events before the answer", async () => {
    expect(await thread.call("double", 21)).toBe(42);
    const events: number[] = [];
    expect(await thread.call("count", 3, { onEvent: (event) => events.push(event) })).toBe("done");
    expect(events).toEqual([0, 1, 2]);
  });

  test("an error of ours comes through whole, another one as an error", async () => {
    await expect(thread.call("fail", "known")).rejects.toMatchObject({
      name: "LlmcError",
      code: "file_not_found",
      message: "Nothing there.",
      hint: "Look.",
      details: { n: 1 },
    });
    await expect(thread.call("fail", "unknown")).rejects.toThrow("odd");
  });

  test("FAIL-D5: a cancelled call is over at once, and the thread goes on", async () => {
    const controller = new AbortController();
    const call = thread.call("untilStopped", null, { signal: controller.signal });
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    expect(await thread.call("double", 1)).toBe(2);
  });

  test("calls on a thread that ends are refused, and so are later ones", async () => {
    const mortal = startThread<TestMethods>({ entry, name: "mortal", data: { factor: 2 } });
    await expect(mortal.call("die", null)).rejects.toMatchObject({ code: "unavailable", retryable: true });
    expect(mortal.isAlive()).toBe(false);
    await expect(mortal.call("double", 1)).rejects.toMatchObject({ code: "unavailable" });
    await mortal.close();
  });

  test("FAIL-F5: a job that hangs or kills its thread is given up, and the next one is done", async () => {
    const jobs = openJobs(3000);
    await expect(jobs.run("hang", null)).rejects.toMatchObject({ code: "timeout" });
    expect(await jobs.run("double", 4)).toBe(8);
    await expect(jobs.run("die", null)).rejects.toMatchObject({ code: "unavailable" });
    expect(await jobs.run("double", 5)).toBe(10);
    await jobs.close();
  });

  test("FAIL-D5: a cancelled job leaves its place to the next, waiting or running", async () => {
    const jobs = openJobs(30_000);
    const controller = new AbortController();
    const hanging = jobs.run("hang", null, controller.signal);
    const waiting = jobs.run("double", 1, controller.signal);
    const other = jobs.run("double", 2);
    controller.abort();
    await expect(hanging).rejects.toMatchObject({ code: "cancelled" });
    await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
    expect(await other).toBe(4);
    await jobs.close();
  });
});
