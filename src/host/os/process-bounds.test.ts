import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { hasGrown } from "./process-bounds.ts";

const LIMITS = { maxResidentMb: 400, maxDescriptors: 512 };

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

test("REQ-I9 a process that leaks descriptors or memory has grown, another has not, and one that is gone has not", async () => {
  using leaking = await start(600, 0);
  using large = await start(0, 450);
  using small = await start(400, 10);
  expect([leaking, large, small].map(({ pid }) => hasGrown(pid, LIMITS))).toEqual([true, true, false]);
  expect(hasGrown(2 ** 30, LIMITS)).toBe(false);
});
