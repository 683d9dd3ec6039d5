import { createHash } from "node:crypto";
import type { Locks } from "../../src/host/state/locks/locks.ts";
import { createRealLocks, openWrites } from "./write-port.ts";

/** The writer of write-crash.test.ts, in a process of its own, which is killed in the middle of its work. */
const [workspace = "", kind = "", first = "0"] = process.argv.slice(2);

const FILES = 24;
const AT_ONCE = 4;
const REWRITES = 1000;

/** Whole only if its first line is the hash of the rest. */
const content = (generation: number): string => {
  const body = `${generation}\n`.repeat(200 + (generation % 7) * 400);
  return `${createHash("sha256").update(body).digest("hex")}\n${body}`;
};

const locks = createRealLocks(workspace);
/** Ends with kill -9 when all files are in place, before the change counts as finished. */
const deadlyLocks: Locks = {
  ...locks,
  hold: (keys, work, signal) =>
    locks.hold(
      keys,
      (lease) =>
        work({
          ...lease,
          commit: (step) => {
            const done = lease.commit(step);
            if (keys.length === FILES) process.kill(process.pid, "SIGKILL");
            return done;
          },
        }),
      signal,
    ),
};
const writes = openWrites(workspace, { locks: kind === "unfinished" ? deadlyLocks : locks });
const start = Number(first);
await writes.append("log", "0 appended\n");
process.stdout.write("ready\n");

if (kind === "many" || kind === "unfinished") {
  for (let generation = start; ; generation++) {
    const changes = Array.from({ length: FILES }, (_, i) => ({
      kind: "update" as const,
      path: `f${i}`,
      change: () => content(generation),
    }));
    await writes.applyAll(changes, { dryRun: false });
  }
} else {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < REWRITES) {
      const i = next++;
      await writes.rewrite(`f${i % FILES}`, content(start + i));
      if (i % 10 === 0) await writes.append("log", `${i} appended\n`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
