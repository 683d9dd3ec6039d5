import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startThread, type Thread } from "./thread.ts";
import { createThreadProxy, type RemoteMethods } from "./thread-proxy.ts";

interface Remote {
  scale(value: number): Promise<number>;
  count(to: number, onStep: (step: number) => void, signal?: AbortSignal): Promise<string>;
  untilAborted(signal: AbortSignal): Promise<never>;
}

const moduleUrl = (name: string): string => pathToFileURL(join(import.meta.dirname, name)).href;

const ENTRY = `
  import { serveThread } from ${JSON.stringify(moduleUrl("serve-thread.ts"))};
  import { handlersOf } from ${JSON.stringify(moduleUrl("thread-proxy.ts"))};
  serveThread(() => {
    let factor = 0;
    const events = [];
    const remote = {
      scale: async (value) => { events.push("scaled by " + factor); return value * factor; },
      count: async (to, onStep) => { for (let i = 0; i < to; i++) onStep(i); return "done"; },
      untilAborted: (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    };
    return { handlers: handlersOf(remote, (context) => { factor = context; }, () => events.splice(0)), close: async () => {} };
  });`;

describe("an object in another thread", () => {
  const folder = mkdtempSync(join(tmpdir(), "llmc-proxy-"));
  const entry = join(folder, "entry.mjs");
  const events: string[] = [];
  let factor = 2;
  let thread: Thread<RemoteMethods<number, string>>;
  let remote: Remote;
  beforeAll(() => {
    writeFileSync(entry, ENTRY);
    thread = startThread({ entry, name: "test" });
    remote = createThreadProxy(
      () => thread,
      () => factor,
      (event: string) => void events.push(event),
    );
  });
  afterAll(async () => {
    await thread.close();
    rmSync(folder, { recursive: true });
  });

  test("every call brings the current context, and events come back with it", async () => {
    expect(await remote.scale(21)).toBe(42);
    factor = 3;
    expect(await remote.scale(2)).toBe(6);
    expect(events).toEqual(["scaled by 2", "scaled by 3"]);
  });

  test("callbacks are called before the result", async () => {
    const steps: number[] = [];
    expect(await remote.count(3, (step) => void steps.push(step))).toBe("done");
    expect(steps).toEqual([0, 1, 2]);
  });

  test("FAIL-D5: a signal that is aborted ends the call at once", async () => {
    const controller = new AbortController();
    const call = remote.untilAborted(controller.signal);
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
  });

  test("an async function can return the proxy", async () => {
    expect(await (async () => remote)()).toBe(remote);
  });
});
