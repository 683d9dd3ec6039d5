import { expect, test } from "vitest";
import { createMountCheck } from "./mount-check.ts";

test("FAIL-J1 a guarded path that was gone when it should have been mounted is unguarded from the start", () => {
  const mounts = createMountCheck([{ path: "/proc", source: undefined }], ["/root-of-a-test/.envrc"]);
  expect(mounts.unguarded(), "the program never ran").toEqual([]);
  expect(mounts.isReady(process.pid)).toBe(true);
  expect(mounts.unguarded()).toEqual(["/root-of-a-test/.envrc"]);
  mounts.close();
});

test("FAIL-J13 a mount that is not there keeps the program from running", () => {
  const mounts = createMountCheck([{ path: "/root-of-a-test", source: undefined }]);
  expect(mounts.isReady(process.pid)).toBe(false);
});
