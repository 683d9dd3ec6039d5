import { describe, expect, test } from "vitest";
import { judgeCall as judge } from "../../../../test/judge-call.ts";
import { seccompProgram } from "./seccomp.ts";

const ALLOW = 0x7fff0000;
const EPERM = 0x00050001;
const EACCES = 0x0005000d;
const EAFNOSUPPORT = 0x00050061;
const ENOSYS = 0x00050026;
const EINVAL = 0x00050016;
const ENOTTY = 0x00050019;
const X64 = 0xc000003e;
const ARM64 = 0xc00000b7;
const gaps = { network: false, pid: 4321, abi: 7 };

describe("REQ-X10: the system call filter", () => {
  test.each([
    ["read", 0, [], ALLOW],
    ["ptrace", 101, [], EPERM],
    ["clone of a process", 56, [0x01200011], ALLOW],
    ["clone with a user namespace", 56, [0x10000011], EPERM],
    ["clone3", 435, [], ENOSYS],
    ["ioctl TCGETS", 16, [0, 0x5401], ALLOW],
    ["fcntl F_SETFL", 72, [3, 4], ALLOW],
    ["fcntl F_SETLEASE", 72, [3, 1024], EINVAL],
    ["fcntl F_NOTIFY", 72, [3, 1026], EINVAL],
    ["fcntl F_SETDELEG", 72, [3, 1040], EINVAL],
    ["ioctl TIOCSTI", 16, [0, 0x5412], EPERM],
    ["ioctl TIOCSTI with dirt above", 16, [0, 0x7_0000_5412], EPERM],
    ["an x32 call", 0x40000000, [], ENOSYS],
    ["socket", 41, [2], ALLOW],
    ["chmod", 90, [], ALLOW],
  ] as const)("%s, in namespaces", (_, call, args, verdict) => {
    expect(judge(seccompProgram({}, "x64") ?? Buffer.alloc(0), X64, call, args)).toBe(verdict);
  });

  test.each([
    ["socket", 41, [2], gaps, EACCES],
    ["socket of the network, allowed", 41, [2], { ...gaps, network: true }, ALLOW],
    ["Unix socket, network allowed", 41, [1], { ...gaps, network: true }, EACCES],
    ["socketpair", 53, [1, 1], gaps, ALLOW],
    ["socketpair of datagrams", 53, [1, 0o2000002], gaps, EACCES],
    ["shared memory by its number", 30, [1], gaps, EPERM],
    ["fcntl F_SETOWN", 72, [3, 8], gaps, ALLOW],
    ["fcntl F_SETLEASE", 72, [3, 1024], gaps, EINVAL],
    ["fcntl F_SETLEASE, old kernel", 72, [3, 1024], { ...gaps, abi: 5 }, EINVAL],
    ["fcntl F_SETLEASE with dirt above", 72, [3, 0x1_0000_0400], gaps, EINVAL],
    ["fcntl F_DUPFD_CLOEXEC", 72, [3, 1030], gaps, ALLOW],
    ["ioctl TIOCGWINSZ", 16, [0, 0x5413], gaps, ALLOW],
    ["ioctl TCGETS2, which names its size", 16, [0, 0x802c542a], gaps, ALLOW],
    ["ioctl SIOCGIFCONF", 16, [3, 0x8912], gaps, ALLOW],
    ["ioctl FICLONE", 16, [3, 0x40049409], gaps, ALLOW],
    ["ioctl FS_IOC_SETFLAGS", 16, [3, 0x40086602], gaps, ENOTTY],
    ["ioctl FS_IOC_FSSETXATTR", 16, [3, 0x401c5820], gaps, ENOTTY],
    ["ioctl FS_IOC_ENABLE_VERITY", 16, [3, 0x40806685], gaps, ENOTTY],
    ["ioctl FS_IOC_SETFLAGS, old kernel", 16, [3, 0x40086602], { ...gaps, abi: 1 }, ENOTTY],
    ["ioctl TIOCSTI", 16, [3, 0x5412], gaps, EPERM],
    ["fcntl F_SETOWN, old kernel", 72, [3, 8], { ...gaps, abi: 5 }, EPERM],
    ["fcntl F_GETFL, old kernel", 72, [3, 3], { ...gaps, abi: 5 }, ALLOW],
    ["ioctl FIOSETOWN, old kernel", 16, [3, 0x8901], { ...gaps, abi: 5 }, EPERM],
    ["ioctl TIOCSTI, old kernel", 16, [3, 0x5412], { ...gaps, abi: 5 }, EPERM],
    ["futimens", 280, [5, 0], gaps, ALLOW],
    ["utimensat by a path", 280, [5, 0x1234], gaps, EPERM],
    ["utimensat by a path whose low half is zero", 280, [5, 2 ** 32], gaps, EPERM],
    ["reading the mark", 302, [0, 15, 0], gaps, ALLOW],
    ["setting the mark", 302, [0, 15, 8], gaps, EPERM],
    ["setting the mark, low half zero", 302, [0, 15, 2 ** 32], gaps, EPERM],
    ["setting the mark the old way", 160, [15], gaps, EPERM],
    ["setting another limit", 302, [0, 7, 8], gaps, ALLOW],
    ["another process's limit", 302, [99, 7, 8], gaps, EPERM],
    ["kill, scoped by the kernel", 62, [99], gaps, ALLOW],
    ["kill, old kernel", 62, [99], { ...gaps, abi: 5 }, EPERM],
    ["kill of itself, old kernel", 62, [4321], { ...gaps, abi: 5 }, ALLOW],
    ["kill of everything, old kernel", 62, [0xffffffff], { ...gaps, abi: 5 }, EPERM],
    ["truncate, old kernel", 76, [], { ...gaps, abi: 2 }, EPERM],
    ["open to read and truncate, old kernel", 257, [0, 0, 0o1000], { ...gaps, abi: 2 }, EPERM],
    ["open to write and truncate, old kernel", 257, [0, 0, 0o1101], { ...gaps, abi: 2 }, ALLOW],
    ["fchmod", 91, [], gaps, EPERM],
  ] as const)("%s, without namespaces", (_, call, args, given, verdict) => {
    const program = seccompProgram({ landlock: given }, "x64") ?? Buffer.alloc(0);
    expect(judge(program, X64, call, args)).toBe(verdict);
  });

  test.each([
    ["a process", 56, [0x01200011], EPERM],
    ["a process that shares memory", 56, [0x4111], EPERM],
    ["fork", 57, [], EPERM],
    ["vfork", 58, [], EPERM],
    ["a thread", 56, [0x003d0f00], ALLOW],
  ] as const)("FAIL-J3: a program that starts no others: %s", (_, call, args, verdict) => {
    const program = seccompProgram({ noFork: true }, "x64") ?? Buffer.alloc(0);
    expect(judge(program, X64, call, args)).toBe(verdict);
  });

  test.each([
    ["chmod u+s", 90, [0, 0o4755], EPERM],
    ["chmod g+s", 90, [0, 0o2755], EPERM],
    ["chmod +t", 90, [0, 0o1755], ALLOW],
    ["fchmod u+s", 91, [0, 0o4755], EPERM],
    ["fchmodat u+s", 268, [0, 0, 0o4755], EPERM],
    ["fchmodat2 u+s", 452, [0, 0, 0o4755], EPERM],
    ["open to make a set-user-ID file", 2, [0, 0o101, 0o4755], EPERM],
    ["openat to make one", 257, [0, 0, 0o101, 0o4755], EPERM],
    ["openat of a temporary one", 257, [0, 0, 0o20200002, 0o4755], EPERM],
    ["openat that makes nothing, with dirt in its mode", 257, [0, 0, 0, 0o4755], ALLOW],
    ["openat to make an ordinary file", 257, [0, 0, 0o101, 0o644], ALLOW],
    ["openat2, whose mode cannot be seen", 437, [], ENOSYS],
    ["creat", 85, [0, 0o6755], EPERM],
    ["mknod", 133, [0, 0o104755], EPERM],
    ["mknodat", 259, [0, 0, 0o104755], EPERM],
    ["a packet socket", 41, [17], EAFNOSUPPORT],
    ["a socket of the kernel's cryptography", 41, [38], EAFNOSUPPORT],
    ["a socket of virtual machines", 41, [40], EAFNOSUPPORT],
    ["a Unix socket", 41, [1], EACCES],
    ["a pair of sockets for a child process", 53, [1, 1], ALLOW],
    ["a pair that keeps the ends of messages, close-on-exec", 53, [1, 0o2000005], ALLOW],
    ["a pair of datagram sockets", 53, [1, 2], EACCES],
    ["a raw pair, which becomes one of datagrams", 53, [1, 3], EACCES],
    ["a pair of another family", 53, [30, 1], EACCES],
    ["netlink for addresses", 41, [16, 3, 0], ALLOW],
    ["netlink for firewalls", 41, [16, 3, 12], EAFNOSUPPORT],
  ] as const)("FAIL-J10: %s", (_, call, args, verdict) => {
    const program = seccompProgram({}, "x64") ?? Buffer.alloc(0);
    expect(judge(program, X64, call, args)).toBe(verdict);
  });

  test("other machines: their own numbers, no calls of another word size, none where we know nothing", () => {
    const program = seccompProgram({}, "arm64") ?? Buffer.alloc(0);
    expect(judge(program, ARM64, 117)).toBe(EPERM);
    expect(judge(program, ARM64, 101)).toBe(ALLOW);
    expect(judge(program, 0x40000028, 117)).toBe(ENOSYS);
    expect(seccompProgram({}, "riscv64")).toBeUndefined();
  });
});
