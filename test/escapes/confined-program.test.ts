import { describe, expect, it } from "vitest";
import type { ConfinementTier } from "../../src/host/confine/contract.ts";
import { type Attempt, attemptsOn } from "../../src/host/confine/self-test/attempts.ts";
import { exceedMemory } from "../../src/host/confine/self-test/exceed-limits.ts";
import { runAttempts } from "../../src/host/confine/self-test/run-attempts.ts";

const LIMITS = { memoryMb: 512, cpuShare: 0.5 };

/** The names of the attempts do not depend on what they are aimed at. */
const ATTEMPTS = attemptsOn({
  file: "",
  program: "",
  pid: 0,
  listener: 0,
  port: 0,
  link: 0,
  socketPath: "",
  descriptors: 0,
});

const ELSEWHERE: Readonly<Record<string, string>> = {
  "make a folder": "EROFS",
  "put a file where its program was": "EBADF",
  "start what is there": "EBADF",
  "make a pair of sockets": "EPERM",
  "bind an inherited socket": "EPERM",
  "connect an inherited listener by TCP fast open": "EPERM",
  "send to another Unix socket": "EPERM",
  "bind another Unix socket": "EPERM",
};

/** What the kernel answers: in namespaces, files are not there; under Landlock, they are closed. */
const answerTo = ({ kind, name }: Attempt, tier: ConfinementTier): string => {
  if (kind === "network") return ELSEWHERE[name] ?? "EACCES";
  const isRead = name.startsWith("read ") && kind === "files";
  return ELSEWHERE[name] ?? (isRead ? (tier === "bubblewrap" ? "ENOENT" : "EACCES") : "EPERM");
};

describe.each(["bubblewrap", "landlock"] as const)(
  "FAIL-H1 REQ-I1 inside a program confined by %s",
  (tier) => {
    const report = runAttempts(LIMITS, { tiers: [tier] });

    it.each(ATTEMPTS.map((attempt) => [attempt.kind, attempt.name, answerTo(attempt, tier)]))(
      "%s: to %s is answered with %s",
      async (kind, name, answer) => {
        const { results } = await report;
        expect(results.filter((one) => one.kind === kind && one.name === name)).toEqual([
          { kind, name, isRefused: true, answer },
        ]);
      },
    );

    it("memory: to take 614 of 512 MiB is answered with ENOMEM (errno 12) by RLIMIT_DATA", async () => {
      expect(await exceedMemory(LIMITS, { tiers: [tier], usesGroups: false })).toEqual({
        isHeld: true,
        answer: "mmap: errno 12",
      });
    });

    it("memory: to take 614 of 512 MiB ends with SIGKILL in a control group, or with ENOMEM without", async () => {
      const { held } = await report;
      const answer = held.memory.mechanism.startsWith("control group") ? "SIGKILL" : "mmap: errno 12";
      expect(await exceedMemory(LIMITS, { tiers: [tier] })).toEqual({ isHeld: true, answer });
    });
  },
);

it("without a sandbox the same attempts succeed, so the answers above are the sandbox's", async () => {
  const { results } = await runAttempts(
    LIMITS,
    { tiers: ["permission"], usesGroups: false },
    ({ isFinal = false }) => !isFinal,
  );
  const allowed = results.filter(({ isRefused }) => !isRefused).map(({ name }) => name);
  expect(allowed).toEqual(
    expect.arrayContaining([
      "read /etc/passwd",
      "read a file of the user",
      "read another process's environment",
      "write to a file of the user",
      "create a file beside it",
      "make a file in memory",
      "make a TCP socket",
      "make a UDP socket",
      "make a Unix socket",
      "signal another process",
      "trace another process",
      "get a handle of another process",
      "make a user namespace",
      "change a limit",
    ]),
  );
  expect((await exceedMemory(LIMITS, { tiers: ["permission"], usesGroups: false })).isHeld).toBe(false);
});
