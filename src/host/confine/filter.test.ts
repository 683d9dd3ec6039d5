import { describe, expect, test } from "vitest";
import { judgeCall } from "../../../test/judge-call.ts";
import { callsNamed, SYSTEM_CALLS } from "../os/system-calls.ts";
import { ALLOWED, type ConfinedFilter, confinedFilter, type FilterOptions } from "./filter.ts";
import { attemptsOn, numberOf } from "./self-test/attempts.ts";

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

/** Calls whose verdict depends on their arguments, or is an error of its own. */
const JUDGED = [
  "openat",
  "open",
  "clone",
  "clone3",
  "execveat",
  "mkdir",
  "mkdirat",
  "kill",
  "tgkill",
  "fcntl",
  "ioctl",
  "prctl",
  "prlimit64",
  "sendto",
  "sendmsg",
  "setsockopt",
  "socket",
  "connect",
];

const attempted = attemptsOn({
  file: "/f",
  program: "/p",
  pid: 7,
  listener: 5,
  port: 80,
  link: 6,
  socketPath: "/s",
  descriptors: 64,
});

const filterOf = (arch: string, options: Partial<FilterOptions> = {}): ConfinedFilter => {
  const filter = confinedFilter({ programDescriptor: 4096, ...options }, arch);
  if (filter === undefined) throw new Error(`no filter for ${arch}`);
  // As the launcher does it.
  for (const at of filter.ownPidAt) filter.program.writeUInt32LE(PID, at);
  return filter;
};

describe.each(MACHINES)("FAIL-H1 the filter of a confined program on %s", (arch, audit, column) => {
  const { program } = filterOf(arch);

  test("allows each call of its list, and with it nothing that the self-test tries", () => {
    for (const name of ALLOWED) {
      const number = SYSTEM_CALLS[name][column];
      if (number >= 0) expect([name, judgeCall(program, audit, number)]).toEqual([name, ALLOW]);
    }
    const byArguments = [...JUDGED, "shutdown", "dup3"];
    for (const { call } of attempted) {
      const number = numberOf(call, arch);
      const name = String(call);
      if (number < 0 || (byArguments.includes(name) && name !== "mkdirat")) continue;
      // Node keeps its compile cache where the folder exists and cannot be made, and gives it up at any other error.
      const answer = name === "mkdirat" ? EROFS : EPERM;
      expect([name, judgeCall(program, audit, number)]).toEqual([name, answer]);
    }
  });

  test("refuses every number that it does not know, and every other machine", () => {
    const known = new Set<number>(
      callsNamed([...ALLOWED, ...JUDGED].join(" ")).map((name) => SYSTEM_CALLS[name][column]),
    );
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
    ["connecting an inherited socket", "connect", [3, 0x1000, 110], EACCES],
    ["accepting on one", "accept4", [3, 0, 0, 0], ALLOW],
    ["sending on a connection", "sendto", [5, 0, 9, 0x4000, 0, 0], ALLOW],
    ["sending to an address", "sendto", [5, 0, 9, 0, 0x1000, 16], EPERM],
    ["fast open", "sendto", [5, 0, 9, 0x20000000, 0, 0], EPERM],
    ["fast open by sendmsg", "sendmsg", [5, 0x1000, 0x20000000], EPERM],
    ["no delay", "setsockopt", [5, 6, 1], ALLOW],
    ["a filter on a socket", "setsockopt", [5, 1, 26], EPERM],
    ["an IP option", "setsockopt", [5, 0, 1], EPERM],
  ] as const)("%s (%s)", (_, name, args, verdict) => {
    expect(judgeCall(program, audit, SYSTEM_CALLS[name][column], args)).toBe(verdict);
  });
});

test("there is no filter for a machine whose numbers are not in the table", () => {
  expect(confinedFilter({ programDescriptor: 4096 }, "riscv64")).toBeUndefined();
});
