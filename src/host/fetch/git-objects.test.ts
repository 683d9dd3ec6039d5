import { spawn } from "node:child_process";
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createGitObjects } from "./git-objects.ts";
import type { GitProcess } from "./git-process.ts";

const ID = "a".repeat(40);

/** A program in git's place. */
const startShell = (script: string): GitProcess & { readonly pid: number } => {
  const child = spawn("sh", ["-c", script], { stdio: ["pipe", "pipe", "ignore"] });
  child.stdin.on("error", () => undefined);
  const ended = once(child, "exit").then(([code]) => code as number | null);
  return {
    pid: child.pid ?? 0,
    write: (text) => void child.stdin.write(text),
    onData: (listener) => void child.stdout.on("data", listener),
    ended,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
};

describe("REQ-K1 objects of a repository that somebody else made", () => {
  test("FAIL-D5 one that takes too long is given up with its process, and the next is read by another", async () => {
    const started: ReturnType<typeof startShell>[] = [];
    const objects = createGitObjects(async () => {
      const isFirst = started.length === 0;
      const next = startShell(isFirst ? "sleep 100" : `read id; printf '%s blob 3\\nabc\\n' "$id"; cat`);
      started.push(next);
      return next;
    });
    const slow = objects.read(ID, 100, AbortSignal.timeout(50));
    const next = objects.read(ID, 100, AbortSignal.timeout(30_000));
    await expect(slow).rejects.toMatchObject({ name: "TimeoutError" });
    expect(await next).toEqual({ kind: "bytes", bytes: Buffer.from("abc") });
    await started[0]?.ended;
    expect(() => process.kill(started[0]?.pid ?? 0, 0)).toThrow();
    await objects.close();
    expect(started).toHaveLength(2);
  });

  test("REQ-K1 the time of one that was read does not end the reading of another", async () => {
    const script = `read a; printf '%s blob 3\\nabc\\n' "$a"; read b; sleep 0.2; printf '%s blob 3\\ndef\\n' "$b"; cat`;
    const objects = createGitObjects(async () => startShell(script));
    const first = new AbortController();
    expect(await objects.read(ID, 100, first.signal)).toEqual({ kind: "bytes", bytes: Buffer.from("abc") });
    const second = objects.read(ID, 100, AbortSignal.timeout(30_000));
    await setImmediate();
    first.abort();
    expect(await second).toEqual({ kind: "bytes", bytes: Buffer.from("def") });
    await objects.close();
  });

  test("one that nobody waits for any more is not asked for", async () => {
    let starts = 0;
    const objects = createGitObjects(async () => {
      starts++;
      return startShell("cat");
    });
    await expect(objects.read(ID, 100, AbortSignal.abort())).rejects.toMatchObject({ name: "AbortError" });
    expect(starts).toBe(0);
  });
});
