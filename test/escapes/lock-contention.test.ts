import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Database } from "../../src/host/state/database/database.ts";
import { createLockDb } from "../../src/host/state/lock-db.ts";
import { createLocks, type Locks } from "../../src/host/state/locks/locks.ts";
import { rounds } from "../rounds.ts";
import { USER_STATE } from "../user-state.ts";

type Child = ChildProcessByStdio<Writable, Readable, null>;

const script = fileURLToPath(new URL("./lock-child.ts", import.meta.url));

let workspace: string;
let counter: string;
let database: Database;
let locks: Locks;
let children: Child[];

const start = (what: string, number: number): Child => {
  const child = spawn(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", script, what, workspace, String(number)],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  children.push(child);
  return child;
};

const nextLine = (child: Child): Promise<string> =>
  new Promise((resolve, reject) => {
    child.stdout.setEncoding("utf8").once("data", (text: string) => resolve(text.trim()));
    child.once("close", () => reject(new Error("It ended without a word.")));
  });

const ended = (child: Child): Promise<number | null> =>
  child.exitCode === null && child.signalCode === null
    ? new Promise((resolve) => child.once("close", resolve))
    : Promise.resolve(child.exitCode);

/** Without those of other tests: the table is the user's. */
const locksHere = () => locks.list().filter(({ key }) => key === counter);

beforeEach(() => {
  workspace = realpathSync(mkdtempSync(join(tmpdir(), "llmc-contention-")));
  counter = join(workspace, "counter");
  writeFileSync(counter, "0");
  children = [];
  database = createLockDb({ workspace, userState: USER_STATE, onWarning: (message) => expect.fail(message) });
  locks = createLocks({
    database,
    workspace,
    settings: () => ({ waitMs: 10_000, leaseMs: 15_000 }),
    now: Date.now,
    pid: process.pid,
  });
});

afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(children.map(ended));
  database.close();
  rmSync(workspace, { recursive: true, force: true });
});

it("FAIL-A17 REQ-F10 two processes that each add one 500 times lose nothing", {
  timeout: 120_000,
}, async () => {
  for (let round = 1; round <= rounds(1, 10); round++) {
    const exits = [start("increment", 500), start("increment", 500)].map(ended);
    expect(await Promise.all(exits)).toEqual([0, 0]);
    expect(readFileSync(counter, "utf8")).toBe(String(round * 1000));
  }
  expect(locksHere()).toEqual([]);
});

it("FAIL-A18 the lock of a process that was killed is taken over at once", async () => {
  const child = start("stall", 60_000);
  expect(await nextLine(child)).toBe("held");
  expect(locksHere()).toMatchObject([{ key: counter, pid: child.pid, isDead: false }]);
  child.kill("SIGKILL");
  const killed = performance.now();
  await locks.hold([counter], async (lease) => lease.commit(() => writeFileSync(counter, "mine")));
  expect(performance.now() - killed).toBeLessThan(2000);
  expect(readFileSync(counter, "utf8")).toBe("mine");
});

it("FAIL-A18 the lock of a process that hangs is taken over when it runs out, and the late writer is refused", async () => {
  const leaseMs = 1500;
  const child = start("stall", leaseMs);
  expect(await nextLine(child)).toBe("held");
  child.kill("SIGSTOP");
  const stopped = performance.now();
  await locks.hold([counter], async (lease) => {
    // It renews every third of its lease, so this much was left at least when it was stopped.
    expect(performance.now() - stopped).toBeGreaterThan(leaseMs / 2);
    lease.commit(() => writeFileSync(counter, "mine"));
    child.kill("SIGCONT");
    child.stdin.write("go\n");
    expect(await nextLine(child)).toBe("refused busy");
    expect(lease.commit(() => "still mine")).toBe("still mine");
  });
  expect(await ended(child)).toBe(0);
  await sleep(10);
  expect(readFileSync(counter, "utf8")).toBe("mine");
});
