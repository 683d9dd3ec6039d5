import { describe, expect, test } from "vitest";
import { judgeCall } from "../../../test/judge-call.ts";
import { type ConfinedFilter, confinedFilter, type FilterOptions } from "./filter.ts";
import { ALLOWED, CALL_NUMBERS } from "./filter-calls.ts";
import { FORBIDDEN } from "./self-test/forbidden-calls.ts";

const ALLOW = 0x7fff0000;
const EPERM = 0x00050001;
const EACCES = 0x0005000d;
const EROFS = 0x0005001e;
const ENOSYS = 0x00050026;
const MACHINES = [
  ["x64", 0xc000003e, 0],
  ["arm64", 0xc00000b7, 1],
] as const;
const PID = 4321;

const filterOf = (arch: string, options: Partial<FilterOptions> = {}): ConfinedFilter => {
  const filter = confinedFilter({ programDescriptor: 4096, connects: false, ...options }, arch);
  if (filter === undefined) throw new Error(`no filter for ${arch}`);
  // As the launcher does it.
  for (const at of filter.ownPidAt) filter.program.writeUInt32LE(PID, at);
  return filter;
};

describe.each(MACHINES)("FAIL-H1 the filter of a confined program on %s", (arch, audit, column) => {
  const { program } = filterOf(arch);

  test("allows each call of its list, and with it nothing that the self-test tries", () => {
    for (const name of ALLOWED) {
      const number = CALL_NUMBERS[name][column];
      if (number >= 0) expect([name, judgeCall(program, audit, number)]).toEqual([name, ALLOW]);
    }
    const judged = ["openat", "clone", "execveat", "kill", "tgkill", "fcntl", "ioctl", "prctl"];
    const byArguments = [...judged, "prlimit64", "sendto", "connect", "socket", "shutdown", "dup3"];
    for (const [name, numbers] of Object.entries(FORBIDDEN)) {
      const number = numbers[column];
      if (number < 0 || byArguments.includes(name)) continue;
      // Node keeps its compile cache where the folder exists and cannot be made, and gives it up at any other error.
      const answer = name === "mkdirat" ? EROFS : EPERM;
      expect([name, judgeCall(program, audit, number)]).toEqual([name, answer]);
    }
  });

  test("refuses every number that it does not know, and every other machine", () => {
    const known = new Set<number>(Object.values(CALL_NUMBERS).map((numbers) => numbers[column]));
    for (let number = 0; number < 1000; number++)
      if (!known.has(number)) expect([number, judgeCall(program, audit, number)]).toEqual([number, EPERM]);
    expect(judgeCall(program, audit, 0x40000000)).toBe(ENOSYS);
    expect(judgeCall(program, 0x40000003, 4)).toBe(ENOSYS);
  });

  test.each([
    ["a thread", "clone", [0x3d0f00], ALLOW],
    ["a process", "clone", [0x1200011], EPERM],
    ["a thread in a new user namespace", "clone", [0x3d0f00 | 0x10000000], EPERM],
    ["clone3", "clone3", [], ENOSYS],
    ["the program, once", "execveat", [4096, 0, 0, 0, 0x1000], ALLOW],
    ["another descriptor", "execveat", [5, 0, 0, 0, 0x1000], EPERM],
    ["the program's descriptor as a folder", "execveat", [4096, 0, 0, 0, 0], EPERM],
    ["reading", "openat", [-100 >>> 0, 1, 0o2000000], ALLOW],
    ["writing", "openat", [0, 1, 1], EPERM],
    ["reading and writing", "openat", [0, 1, 2], EPERM],
    ["creating", "openat", [0, 1, 0o100], EPERM],
    ["truncating", "openat", [0, 1, 0o1000], EPERM],
    ["a file without a name", "openat", [0, 1, 0o20000000], EPERM],
    ["itself", "tgkill", [PID, PID, 6], ALLOW],
    ["another", "tgkill", [1, 1, 6], EPERM],
    ["its group", "kill", [0, 9], EPERM],
    ["everybody", "kill", [0xffffffff, 9], EPERM],
    ["reading its limits", "prlimit64", [0, 7, 0, 0x1000], ALLOW],
    ["raising its limits", "prlimit64", [0, 7, 0x1000, 0], EPERM],
    ["raising its limits, by an address with a zero low half", "prlimit64", [0, 7, 2 ** 32, 0], EPERM],
    ["limits of another", "prlimit64", [PID + 1, 7, 0, 0x1000], EPERM],
    ["its name", "prctl", [15], ALLOW],
    ["its dumpable flag", "prctl", [4], EPERM],
    ["a socket", "socket", [2, 1], EACCES],
    ["a Unix socket", "socket", [1, 1], EACCES],
    ["sending on a connection", "sendto", [5, 0, 9, 0x4000, 0, 0], ALLOW],
    ["sending to an address", "sendto", [5, 0, 9, 0, 0x1000, 16], EPERM],
    ["fast open", "sendto", [5, 0, 9, 0x20000000, 0, 0], EPERM],
    ["fast open by sendmsg", "sendmsg", [5, 0x1000, 0x20000000], EPERM],
    ["no delay", "setsockopt", [5, 6, 1], ALLOW],
    ["a filter on a socket", "setsockopt", [5, 1, 26], EPERM],
    ["an IP option", "setsockopt", [5, 0, 1], EPERM],
  ] as const)("%s (%s)", (_, name, args, verdict) => {
    expect(judgeCall(program, audit, CALL_NUMBERS[name][column], args)).toBe(verdict);
  });

  test("where it may connect: Unix streams alone", () => {
    const connecting = filterOf(arch, { connects: true }).program;
    const socket = CALL_NUMBERS.socket[column];
    expect(judgeCall(connecting, audit, socket, [1, 0o2004001])).toBe(ALLOW);
    expect(judgeCall(connecting, audit, socket, [1, 2])).toBe(EACCES);
    expect(judgeCall(connecting, audit, socket, [2, 1])).toBe(EACCES);
    expect(judgeCall(connecting, audit, CALL_NUMBERS.connect[column])).toBe(ALLOW);
  });
});

test("there is no filter for a machine whose numbers are not in the table", () => {
  expect(confinedFilter({ programDescriptor: 4096, connects: false }, "riscv64")).toBeUndefined();
});
