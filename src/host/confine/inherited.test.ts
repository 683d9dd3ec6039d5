import { openSync } from "node:fs";
import { tmpdir } from "node:os";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import koffi from "koffi";
import { expect, test } from "vitest";
import { SYSTEM_CALLS } from "../os/system-calls.ts";
import { inProgramFile } from "./program-file.ts";
import { callsExecutable } from "./self-test/run-attempts.ts";
import { startProcess } from "./start-process.ts";
import { buildProgram, type Datum, type SystemCall } from "./system-call-program.ts";

const column = process.arch === "arm64" ? 1 : 0;
const LIMITS = { memoryMb: 512, cpuShare: 0.5, descriptors: 128 };
const F_GETFD = 1;
const F_SETFD = 2;
const fcntl = koffi.load(null).func("int fcntl(int descriptor, int command, int value)");
const EBADF = 9;

/** Which descriptors are open, asked before anything else runs in the process. */
const openInside = (): Buffer => {
  const answers: Datum = { bytes: Buffer.alloc(4 * LIMITS.descriptors) };
  const asked: SystemCall[] = Array.from({ length: LIMITS.descriptors }, (_, descriptor) => ({
    step: "fcntl",
    number: SYSTEM_CALLS.fcntl[column],
    args: [descriptor, F_GETFD],
    result: { into: answers, at: 4 * descriptor },
    isOptional: true,
  }));
  return buildProgram(
    [
      ...asked,
      { step: "write", number: SYSTEM_CALLS.write[column], args: [1, answers, answers.bytes.length] },
      { step: "exit", number: SYSTEM_CALLS.exit_group[column], args: [0] },
    ],
    2,
  );
};

test.each([
  ["permission", false],
  ["bubblewrap", true],
  ["bubblewrap", false],
  ["landlock", true],
  ["landlock", false],
] as const)(
  "FAIL-H1 in %s (control groups: %s), the descriptors that were given are open, and no other",
  async (tier, usesGroups) => {
    await inProgramFile(tmpdir(), openInside, async (file) => {
      const more = openSync("/dev/null", "r");
      // As a client leaves it: not to be closed when a program starts.
      expect(fcntl(openSync("/etc/passwd", "r"), F_SETFD, 0)).toBe(0);
      const executable = callsExecutable(file, LIMITS, ["ignore", "pipe", "ignore", more, "ignore", more]);
      const confined = await startProcess(executable, { tiers: [tier], usesGroups });
      const answers = await buffer(confined.child.stdout as Readable);
      const open = Array.from({ length: LIMITS.descriptors }, (_, descriptor) => descriptor).filter(
        (descriptor) => answers.readInt32LE(4 * descriptor) !== -EBADF,
      );
      expect(open).toEqual([0, 1, 2, 3, 5]);
    });
  },
);
