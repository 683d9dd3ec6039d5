import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createTreeWatch, type TreeWatch } from "./watch-tree.ts";

describe("watching directories", () => {
  let folder = "";
  let watch: TreeWatch | undefined;
  const at = (name: string): string => join(folder, name);

  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "llmc-watch-")));
    mkdirSync(at("sub"));
  });
  afterEach(() => {
    watch?.close();
    rmSync(folder, { recursive: true });
  });

  /** Follows, acts, and waits for the announcement. */
  const changesAfter = async (act: () => void, directories = [folder, at("sub")], maxDirectories = 100) => {
    const announced = new Promise<void>((resolve) => {
      watch = createTreeWatch({ onNews: resolve, quietMs: 20, maxDirectories });
    });
    watch?.follow(new Set(directories));
    act();
    await announced;
    return watch?.take();
  };

  test("names what was made, written, moved and removed", async () => {
    writeFileSync(at("sub/old.txt"), "1");
    const changes = await changesAfter(() => {
      writeFileSync(at("new.txt"), "1");
      writeFileSync(at("sub/old.txt"), "2");
      renameSync(at("new.txt"), at("sub/moved.txt"));
    });
    expect(changes?.isFlood).toBe(false);
    expect([...(changes?.paths ?? [])].toSorted()).toEqual([
      at("new.txt"),
      at("sub/moved.txt"),
      at("sub/old.txt"),
    ]);
    expect(watch?.hasNews()).toBe(false);
    expect(watch?.isComplete()).toBe(true);
  });

  test("listens to a directory that was made again", async () => {
    const first = await changesAfter(() => {
      rmSync(at("sub"), { recursive: true });
      mkdirSync(at("sub"));
    });
    expect(first?.paths.has(at("sub"))).toBe(true);
    watch?.follow(new Set([folder, at("sub")]));
    writeFileSync(at("sub/again.txt"), "");
    await expect.poll(() => watch?.take().paths.has(at("sub/again.txt"))).toBe(true);
  });

  test("FAIL-D6 a flood that does not end keeps nobody from working: it is not listened to until the next scan", async () => {
    writeFileSync(at("sub/busy"), "");
    const flood = "const f = require('node:fs'); for (;;) f.utimesSync(process.argv[1], 1, Math.random());";
    const floods = [1, 2, 3].map(() => spawn(process.execPath, ["-e", flood, at("sub/busy")]));
    onTestFinished(() => floods.forEach((one) => void one.kill()));
    const changes = await changesAfter(() => {});
    // Taking what came begins the count again: with two busy cores a flood needs a moment.
    const isFlooded = () => changes?.isFlood || watch?.take().isFlood;
    await expect.poll(isFlooded, { timeout: 20_000, interval: 1000 }).toBe(true);
    expect(watch?.isComplete()).toBe(false);
    const before = performance.eventLoopUtilization();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(performance.eventLoopUtilization(before).utilization).toBeLessThan(0.5);
    for (const one of floods) one.kill("SIGKILL");
    expect(watch?.follow(new Set([folder, at("sub")]))).toBe(true);
    expect(watch?.follow(new Set([folder, at("sub")]))).toBe(false);
    writeFileSync(at("sub/after"), "");
    await expect.poll(() => watch?.take().paths.has(at("sub/after"))).toBe(true);
  });

  test("so many changes that some may be lost are a flood", async () => {
    const changes = await changesAfter(() => {
      for (let i = 0; i < 2500; i++) {
        writeFileSync(at("a.txt"), "");
        rmSync(at("a.txt"));
      }
    });
    await expect.poll(() => changes?.isFlood === true || watch?.take().isFlood === true).toBe(true);
  });

  test("more directories than it may have are not all watched, and it says so", () => {
    watch = createTreeWatch({ onNews: () => {}, quietMs: 20, maxDirectories: 1 });
    watch.follow(new Set([folder, at("sub")]));
    expect(watch.isComplete()).toBe(false);
    watch.follow(new Set([folder]));
    expect(watch.isComplete()).toBe(true);
  });

  test("a directory that is not there is no reason to fail", () => {
    watch = createTreeWatch({ onNews: () => {}, quietMs: 20, maxDirectories: 10 });
    watch.follow(new Set([folder, at("none")]));
    expect(watch.isComplete()).toBe(true);
  });
});
