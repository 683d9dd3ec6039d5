import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { SYSTEM_CALLS } from "../os/system-calls.ts";
import { inProgramFile } from "./program-file.ts";
import {
  argumentAt,
  buildProgram,
  type Datum,
  readFailure,
  type SystemCall,
  text,
  textList,
} from "./system-call-program.ts";

const column = process.arch === "arm64" ? 1 : 0;
const exit = (code = 0): SystemCall => ({
  step: "exit",
  number: SYSTEM_CALLS.exit_group[column],
  args: [code],
});
const write = (datum: Datum, bytes: number): SystemCall => ({
  step: "write",
  number: SYSTEM_CALLS.write[column],
  args: [1, datum, bytes],
});

const run = (
  calls: readonly SystemCall[],
  input = "",
): { status: number | null; stdout: Buffer; stderr: Buffer } =>
  inProgramFile(
    tmpdir(),
    () => buildProgram(calls, 2),
    (file) => spawnSync(file, ["argument"], { input, env: {} }),
  );

test("makes its calls in order, with data of its own", () => {
  const { status, stdout } = run([write(text("one "), 4), write(text("two"), 3), exit(7)]);
  expect({ status, out: String(stdout) }).toEqual({ status: 7, out: "one two" });
});

test("passes a result on, into data and into a later argument", () => {
  const buffer: Datum = { bytes: Buffer.alloc(64) };
  const echo = write(buffer, 0);
  const read: SystemCall = {
    step: "read",
    number: SYSTEM_CALLS.read[column],
    args: [0, buffer, 64],
    result: { into: echo, at: argumentAt(2) },
  };
  expect(String(run([read, echo, exit()], "as long as this is").stdout)).toBe("as long as this is");
});

test("names the step that the kernel refused, and what it answered", () => {
  const calls: readonly SystemCall[] = [
    write(text("x"), 1),
    { step: "close what is not open", number: SYSTEM_CALLS.close[column], args: [99] },
    exit(),
  ];
  const { status, stderr } = run(calls);
  expect(status).toBe(126);
  expect(readFailure(stderr, calls)).toEqual({ step: "close what is not open", errno: 9 });
});

test("an optional call may fail, and its answer is kept", () => {
  const answer: Datum = { bytes: Buffer.alloc(4) };
  const close: SystemCall = {
    step: "close",
    number: SYSTEM_CALLS.close[column],
    args: [99],
    result: { into: answer, at: 0 },
    isOptional: true,
  };
  const { status, stdout } = run([close, write(answer, 4), exit()]);
  expect({ status, answer: stdout.readInt32LE(0) }).toEqual({ status: 0, answer: -9 });
});

test("becomes another program with the arguments and the environment of its table", () => {
  const { stdout } = run([
    {
      step: "execve",
      number: SYSTEM_CALLS.execve[column],
      args: [
        text("/bin/sh"),
        textList(["sh", "-c", 'echo "$GIVEN $1"', "sh", "it's"]),
        textList(["GIVEN=yes"]),
      ],
    },
  ]);
  expect(String(stdout)).toBe("yes it's\n");
});

test("a result cannot go to a call that is not there", () => {
  expect(() => buildProgram([{ ...exit(), result: { into: exit(), at: 8 } }], 2)).toThrow("not in the table");
});

test.each([
  ["x64", 62, 0x68],
  ["arm64", 183, 0x60],
])(
  "the file for %s: its machine, no segment both writable and executable, code of the right length",
  (arch, machine, length) => {
    const file = buildProgram([exit()], 2, arch);
    expect(file.toString("latin1", 0, 4)).toBe("\x7fELF");
    expect(file.readUInt16LE(18)).toBe(machine);
    const flags = [0, 1, 2].map((index) => file.readUInt32LE(64 + 56 * index + 4));
    expect(flags).toEqual([5, 6, 6]);
    const codeStart = 64 + 3 * 56;
    const literals = codeStart + length;
    expect(Number(file.readBigUInt64LE(literals))).toBe(Number(file.readBigUInt64LE(64 + 56 + 16)));
    expect(Number(file.readBigUInt64LE(literals + 8))).toBe(2);
  },
);
