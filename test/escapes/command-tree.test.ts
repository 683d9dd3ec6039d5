import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { isLong, rounds } from "../rounds.ts";
import { createStand, PYTHON, processesWith, settings } from "./command-stand.ts";

let lastTag = 0;
/** A number of seconds that no other process sleeps: it finds ours again in the process list. */
const newTag = (): string => `9${process.pid}.${String(lastTag++).padStart(4, "0")}`;

/** A double fork into a session of its own, without our environment, deaf to SIGTERM. */
const daemon = (tag: string): string =>
  `setsid -f env -i /bin/sh -c 'trap "" TERM HUP INT; (sleep ${tag} &) ; sleep ${tag}' >/dev/null 2>&1 </dev/null`;

/** Without end in the long form; in the short one tens of megabytes, to leave the processor to other tests. */
const flood = (tag: string): string =>
  isLong ? `yes ${tag}` : `yes ${tag} | head -c 30000000; sleep ${tag}`;

const descriptors = (): number => readdirSync("/proc/self/fd").length;

/** The age of the kernel changes nothing about how a tree is found. */
const tiers = settings.filter(({ maxLandlockAbi }) => maxLandlockAbi === undefined);

describe.each(tiers)("the tree of a command in $name", (setting) => {
  test("FAIL-C5: floods, daemons and deaf processes are gone at the deadline, round after round", async () => {
    await using stand = await createStand(setting);
    await stand.sh("true");
    const before = descriptors();
    const resident: number[] = [];
    const perTier = rounds(5, 100);
    let timeoutMs = 250;
    for (let round = 0; round < perTier; ) {
      const tag = newTag();
      const outcome = await stand.sh(
        `trap '' TERM; ${daemon(tag)}; sleep ${tag} & cat; (: < /dev/tty) 2>/dev/null && echo has-tty; ${flood(tag)}`,
        { timeoutMs },
      );
      expect(processesWith(tag)).toEqual([]);
      expect(outcome.timedOut).toBe(true);
      expect(outcome.durationMs).toBeLessThan(timeoutMs + 5000);
      expect(outcome.text).not.toContain("has-tty");
      // A busy machine may not have come to the flood by then: such a round says nothing.
      if (outcome.stdout.length === 0 && timeoutMs < 10_000) {
        timeoutMs *= 2;
        continue;
      }
      // The whole tree is killed at once; a shell may still come to tell that its child was.
      expect(outcome.exitCode === 137 ? "SIGKILL" : outcome.signal).toBe("SIGKILL");
      expect(outcome.stdout.length).toBeGreaterThan(1000);
      resident.push(process.memoryUsage().rss);
      round++;
    }
    expect(descriptors()).toBeLessThanOrEqual(before + 1);
    const growth = (resident.at(-1) ?? 0) - (resident[Math.floor(perTier / 2)] ?? 0);
    expect(growth).toBeLessThan(60 * 1024 * 1024);
  }, 300_000);

  test("FAIL-C5, REQ-X1: what a command leaves behind ends with it, and holds nothing up", async () => {
    await using stand = await createStand(setting);
    const tag = newTag();
    const outcome = await stand.sh(`${daemon(tag)}; sleep ${tag} & (sleep ${tag} &); echo done; exit 5`);
    expect(outcome).toMatchObject({ exitCode: 5, timedOut: false });
    expect(outcome.stdout.toString()).toBe("done\n");
    expect(outcome.durationMs).toBeLessThan(10_000);
    expect(processesWith(tag)).toEqual([]);
  });

  test("FAIL-C5: a fork bomb is gone at the deadline", async () => {
    await using stand = await createStand(setting);
    const tag = newTag();
    // Bounded, since root is not held by the limit on processes.
    const bomb = `import os, time
for _ in range(6):
    os.fork()
    os.setsid() if os.getpid() != os.getsid(0) and os.getpgrp() != os.getpid() else None
time.sleep(${tag})`;
    const outcome = await stand.run([PYTHON, "-c", bomb], { timeoutMs: 1000 });
    expect(outcome.timedOut).toBe(true);
    expect(processesWith(tag)).toEqual([]);
  });

  test("FAIL-D5: an abort ends the tree at once and is told as such", async () => {
    await using stand = await createStand(setting);
    const tag = newTag();
    const controller = new AbortController();
    const script = `trap '' TERM; ${daemon(tag)}; sleep ${tag}`;
    const running = stand.run(["/bin/sh", "-c", script], {}, controller.signal);
    setTimeout(() => controller.abort(), 700);
    const startedAt = performance.now();
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
    expect(performance.now() - startedAt).toBeLessThan(700 + 2500);
    expect(processesWith(tag)).toEqual([]);
    await expect(stand.run(["/bin/true"], {}, AbortSignal.abort())).rejects.toMatchObject({
      code: "cancelled",
    });
  });

  test("FAIL-D5: an abort at any moment of the start leaves nothing", async () => {
    await using stand = await createStand(setting);
    const tag = newTag();
    for (let afterMs = 0; afterMs < 40; afterMs += 4) {
      const controller = new AbortController();
      const running = stand.run(["/bin/sleep", tag], {}, controller.signal);
      setTimeout(() => controller.abort(), afterMs);
      await expect(running).rejects.toMatchObject({ code: "cancelled" });
    }
    expect(processesWith(tag)).toEqual([]);
  });

  test("REQ-X1: a program that heeds SIGTERM has time to say goodbye", async () => {
    await using stand = await createStand(setting);
    const goodbye = `import signal, sys, time
def leave(*_): print("bye", flush=True); sys.exit(3)
signal.signal(signal.SIGTERM, leave); print("ready", flush=True); time.sleep(60)`;
    const outcome = await stand.run([PYTHON, "-c", goodbye], { timeoutMs: 1500 });
    expect(outcome).toMatchObject({ timedOut: true, exitCode: 3 });
    expect(outcome.stdout.toString()).toBe("ready\nbye\n");
  });
});
