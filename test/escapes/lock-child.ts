import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createReach } from "../../src/host/reach/reach.ts";
import { createFiles } from "../../src/host/read/files.ts";
import { createHandles, newHandleId } from "../../src/host/state/handles/handles.ts";
import { createLockDb } from "../../src/host/state/lock-db.ts";
import { createLocks } from "../../src/host/state/locks/locks.ts";
import { createStateDb } from "../../src/host/state/state-db.ts";
import { USER_STATE } from "../user-state.ts";

const ME = { principal: "local" };

/** Another server, as the tests of locks and handles need one: `lock-child.ts WHAT WORKSPACE [NUMBER]`. */
const [what = "", workspace = "", number = "0"] = process.argv.slice(2);
const say = (text: string): void => void process.stdout.write(`${text}\n`);

const databases = {
  workspace,
  userState: USER_STATE,
  onWarning: (message: string) => say(`warning ${message}`),
};
const state = createStateDb(databases);
const locks = createLocks({
  database: createLockDb(databases),
  workspace,
  settings: () => ({ waitMs: 20_000, leaseMs: what === "stall" ? Number(number) : 15_000 }),
  now: Date.now,
  pid: process.pid,
});
const maxBytes = 512 * 1024 * 1024;
const handles = createHandles({
  state,
  files: createFiles(createReach({ workspace, roots: () => ["."], denylist: () => [] })),
  workspace,
  limits: () => ({ ttlSeconds: 86_400, maxTotalBytes: maxBytes, maxBytesEach: maxBytes }),
  now: Date.now,
  newId: newHandleId,
  pid: process.pid,
});

const file = join(workspace, "counter");
const replace = (text: string): void => {
  writeFileSync(`${file}.${process.pid}`, text);
  renameSync(`${file}.${process.pid}`, file);
};

/** Reads, adds one and writes, as many times; some of them at once. */
const increment = async (): Promise<void> => {
  const times = Number(number);
  const one = (): Promise<void> =>
    locks.hold([file], async (lease) => {
      const value = Number(readFileSync(file, "utf8"));
      await new Promise(setImmediate);
      lease.commit(() => replace(String(value + 1)));
    });
  for (let done = 0; done < times; done += 10) await Promise.all(Array.from({ length: 10 }, one));
};

/** Takes the lock and then waits for a word; what it would write comes too late. */
const stall = (): Promise<void> =>
  locks.hold([file], async (lease) => {
    say("held");
    await new Promise((resolve) => process.stdin.once("data", resolve));
    try {
      lease.commit(() => replace("late"));
      say("written");
    } catch (error) {
      say(`refused ${error instanceof Error && "code" in error ? String(error.code) : "?"}`);
    }
  });

/** Lines that tell whether all of them are there. */
const payload = function* (seed: number): Generator<string> {
  const lines = 2000 + (seed % 20_000);
  yield `${lines} lines`;
  for (let i = 1; i < lines; i++) yield `${seed} ${i} ${"x".repeat(i % 200)}`;
};

const putOn = async (): Promise<void> => {
  for (let seed = Number(number); ; seed += 7919) {
    say(await handles.put(ME, "output", "", payload(seed)));
    if (seed % 3 === 0) await locks.hold([file], async (lease) => lease.commit(() => replace(String(seed))));
  }
};

const numbered = function* (lines: number): Generator<string> {
  const filling = "x".repeat(91);
  for (let i = 0; i < lines; i++) yield `${String(i).padStart(8, "0")}${filling}`;
};

const measure = async (): Promise<void> => {
  // The database is open then and the code is warm.
  await handles.put(ME, "output", "", numbered(1000));
  const before = process.memoryUsage.rss();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 5);
  const id = await handles.put(ME, "output", "", numbered(1_000_000));
  clearInterval(timer);
  const { lines } = await handles.readLines(ME, id, {
    offsetLines: 999_990,
    maxLines: 100,
    maxBytes: 100_000,
  });
  say(
    JSON.stringify({ grownBytes: peak - before, sizeBytes: (await handles.list(ME))[0]?.sizeBytes, lines }),
  );
};

/** Until the disk is full. */
const fill = async (): Promise<void> => {
  for (let seed = 0; ; seed++) {
    try {
      await handles.put(ME, "output", "", payload(seed));
    } catch (error) {
      say(`refused ${error instanceof Error && "code" in error ? String(error.code) : String(error)}`);
      break;
    }
  }
  for (const { id } of await handles.list(ME)) await handles.readChunk(ME, id, 0);
  const check = state.read(() => state.sql("PRAGMA integrity_check").get()?.["integrity_check"]);
  say(`${(await handles.list(ME)).length > 0 ? "some" : "none"} kept, ${String(check)}`);
};

const WORK: Readonly<Record<string, () => Promise<void>>> = { increment, stall, put: putOn, measure, fill };
await WORK[what]?.();
process.exit();
