import { spawn } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { watchFiles } from "./watch-files.ts";

/** A watched path in a new folder, and how often it was said to have changed. */
const open = (files: Readonly<Record<string, string>>, links: Readonly<Record<string, string>> = {}) => {
  const root = tempWorkspace(files);
  const at = (path: string): string => join(root, path);
  const link = (path: string, target: string): void => {
    mkdirSync(dirname(at(path)), { recursive: true });
    symlinkSync(target, at(`${path}.new`));
    renameSync(at(`${path}.new`), at(path));
  };
  for (const [path, target] of Object.entries(links)) link(path, target);
  let calls = 0;
  return {
    at,
    link,
    calls: () => calls,
    watch: (path: string): void => {
      onTestFinished(
        watchFiles(
          () => [at(path)],
          () => void calls++,
        ),
      );
    },
    /** Does something, and waits until that was noticed. */
    noticed: async (change: () => void): Promise<void> => {
      const before = calls;
      change();
      await vi.waitFor(() => expect(calls).toBeGreaterThan(before), { timeout: 5000, interval: 5 });
    },
  };
};

describe("FAIL-J8 REQ-C5: a watched path", () => {
  test("is not held off by changes that never end, and nothing else in its folder counts", async () => {
    const { at, watch, calls } = open({ "llmc.toml": "", "..data": "" });
    watch("llmc.toml");
    const touch = async (name: string, until: () => boolean): Promise<void> => {
      for (const end = Date.now() + 5000; Date.now() < end && !until(); await sleep(2))
        utimesSync(at(name), Date.now() / 1000, Date.now() / 1000);
    };
    let turns = 0;
    await touch("..data", () => turns++ > 200);
    expect(calls()).toBe(0);
    await touch("llmc.toml", () => calls() > 1);
    expect(calls()).toBe(2);
  });

  test("FAIL-D6 costs the thread nothing, however many events there are in its folder", async () => {
    const { at, watch, noticed } = open({ "llmc.toml": "1", busy: "" });
    watch("llmc.toml");
    const flood = "const f = require('node:fs'); for (;;) f.utimesSync(process.argv[1], 1, Math.random());";
    const floods = [1, 2, 3].map(() => spawn(process.execPath, ["-e", flood, at("busy")]));
    onTestFinished(() => floods.forEach((one) => void one.kill()));
    await sleep(500);
    // Processor time: on a busy machine, a thread is also "active" while it waits for a core.
    const before = process.cpuUsage();
    await sleep(1000);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(100);
    await noticed(() => writeFileSync(at("llmc.toml"), "22"));
  });

  test("that is a link: the file behind it, edited in place or replaced, and the link itself", async () => {
    const { at, watch, noticed, link } = open(
      { "dot/real.toml": "1", "other/real.toml": "1" },
      { "etc/link.toml": "../mid/link", "mid/link": "../dot/real.toml" },
    );
    watch("etc/link.toml");
    await noticed(() => writeFileSync(at("dot/real.toml"), "2"));
    writeFileSync(at("dot/new"), "3");
    await noticed(() => renameSync(at("dot/new"), at("dot/real.toml")));
    await noticed(() => writeFileSync(at("dot/real.toml"), "4"));
    await noticed(() => link("mid/link", at("other/real.toml")));
    await noticed(() => writeFileSync(at("other/real.toml"), "5"));
    await noticed(() => rmSync(at("etc/link.toml")));
    await noticed(() => writeFileSync(at("etc/link.toml"), "6"));
  });

  test("in a folder that is a link, and as Kubernetes mounts it", async () => {
    const { at, watch, noticed, link } = open(
      { "conf/..1/llmc.toml": "1", "conf/..2/llmc.toml": "2" },
      { "conf/..data": "..1", "conf/llmc.toml": "..data/llmc.toml", etc: "conf" },
    );
    watch("etc/llmc.toml");
    await noticed(() => link("conf/..data", "..2"));
    await noticed(() => writeFileSync(at("conf/..2/llmc.toml"), "3"));
    await noticed(() => link("conf/..data", "..1"));
  });

  test("whose folder does not exist yet, or is removed and made again", async () => {
    const { at, watch, noticed } = open({ x: "" });
    const make = (): void => {
      mkdirSync(at("a/b"), { recursive: true });
      writeFileSync(at("a/b/file"), "1");
    };
    watch("a/b/file");
    await noticed(make);
    await noticed(() => rmSync(at("a"), { recursive: true }));
    await noticed(make);
    await noticed(() => renameSync(at("a/b"), at("a/c")));
  });

  test("that is a link to itself", async () => {
    const { watch, noticed, link } = open({ x: "" }, { loop: "loop" });
    watch("loop");
    await noticed(() => link("loop", "x"));
  });
});
