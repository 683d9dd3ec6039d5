import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { createOwners } from "./process-owner.ts";

const owners = createOwners(process.pid);
const { birth } = owners.self();

it("knows that this process lives", () => {
  expect(owners.isGone(owners.self())).toBe(false);
  expect(owners.self()).toBe(owners.self());
});

it("tells a process from another with the same number", () => {
  expect(owners.isGone({ pid: process.pid, birth: birth.replace(/^\d*/, "1") })).toBe(
    existsSync("/proc/self/stat"),
  );
});

it.each([
  ["one that cannot exist", 2 ** 22 + 5, birth, true],
  ["one of another boot or container", 2 ** 22 + 5, "1@elsewhere/pid:[1]", false],
  ["what is no process number", 0, birth, false],
  ["a whole group", -1, birth, false],
])("judges %s", (_what, pid, born, isGone) => {
  expect(owners.isGone({ pid, birth: born })).toBe(isGone);
});

it.runIf(existsSync("/proc/self/stat"))("takes a zombie for gone", async () => {
  // The shell becomes a program that never asks for the end of its child.
  const parent = spawn("sh", ["-c", "sleep 0.1 & echo $!; exec sleep 10"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const pid = Number(await new Promise((resolve) => parent.stdout.once("data", resolve)));
  const child = createOwners(pid).self();
  expect(owners.isGone(child)).toBe(false);
  await expect.poll(() => owners.isGone(child)).toBe(true);
  parent.kill("SIGKILL");
});
