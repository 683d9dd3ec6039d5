import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { processFigures } from "./process-figures.ts";

/** Node with so many files open, and so many MiB. */
const start = async (files: number, mebibytes: number) => {
  const code = `
    for (let i = 0; i < ${files}; i++) require("node:fs").openSync("/dev/null", "r");
    global.kept = Buffer.alloc(${mebibytes} * 1024 * 1024, 1);
    console.log("ready");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return { pid: child.pid ?? 0, [Symbol.dispose]: () => void child.kill("SIGKILL") };
};

test("REQ-I9 memory and descriptors of a process are measured, and nothing is said of one that is gone", async () => {
  using leaking = await start(600, 0);
  using large = await start(0, 450);
  using small = await start(400, 10);
  const sizes = [leaking, large, small].map(({ pid }) => processFigures(pid));
  expect(sizes.map((size) => (size?.descriptors ?? 0) > 512)).toEqual([true, false, false]);
  expect(sizes.map((size) => (size?.residentBytes ?? 0) > 400 * 1024 * 1024)).toEqual([false, true, false]);
  expect(processFigures(2 ** 30)).toBeUndefined();
});
