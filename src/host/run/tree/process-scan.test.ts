import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { findTree, identify, type ProcessKey } from "./process-scan.ts";

const MARK = { id: `scan-${process.pid}`, realtimeLimit: "no such limit" };
/** Start times are counted in these. */
const CLOCK_TICK_MS = 10;

const startMarked = async (): Promise<ProcessKey> => {
  const child = spawn("sleep", ["60"], { env: { ...process.env, LLMC_COMMAND_ID: MARK.id }, detached: true });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child, "spawn");
  const key = identify(child.pid ?? 0);
  if (key === undefined) throw new Error("it did not start");
  return key;
};

test("FAIL-C5: the mark finds what left the tree, but nothing that was there before the command", async () => {
  const older = await startMarked();
  await sleep(3 * CLOCK_TICK_MS);
  const younger = await startMarked();
  const both = findTree(older, false, MARK);
  expect(both).toHaveLength(2);
  expect(both).toEqual(expect.arrayContaining([older, younger]));
  expect(findTree(younger, false, MARK)).toEqual([younger]);
});
