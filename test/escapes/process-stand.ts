import type { Processes } from "../../src/host/processes/contract.ts";
import { createProcesses } from "../../src/host/processes/processes.ts";
import type { CommandGate } from "../../src/host/run/commands.ts";
import { createCommandRunner } from "../../src/host/run/runner.ts";
import type { Tier } from "../../src/host/run/tiers/contract.ts";
import { isLong } from "../rounds.ts";

/** Whoever starts processes in these tests. */
export const OWNER = {
  agentId: "test",
  sessionId: "one",
  model: "none",
  owner: "one",
  may: new Set<string>(),
};

/** Processes in one forced tier over a folder; the command is a shell script, and every one is let through. */
export const processesIn = (tier: Tier, root: string, maxLandlockAbi?: number) => {
  const runner = createCommandRunner({
    mode: () => "auto",
    tiers: [tier],
    ...(maxLandlockAbi === undefined ? {} : { maxLandlockAbi }),
  });
  const gate: CommandGate = {
    locate: async () => undefined,
    check: async () => {},
    writerOf: async () => undefined,
    withWriteLock: (_writer, _wait, work) => work(undefined),
    pass: (call, _lock, _signal, work) => {
      const script = String(call.command);
      const request = { cwd: root, timeoutMs: 1 };
      return work({
        request: { ...request, argv: ["/bin/sh", "-c", script] },
        profile: { writable: [root], protectedInside: [], hidden: [], network: false },
      });
    },
  };
  const processes = createProcesses({
    root,
    gate,
    lines: { single: async ({ command, cwd }) => ({ command: [command], cwd, env: {} }) },
    runner,
    settings: () => ({
      enabled: true,
      idleMs: 600_000,
      maxLockMs: 60_000,
      maxProcesses: 10,
      maxPerSession: 10,
      killForeign: false,
    }),
    now: () => performance.now(),
  });
  return {
    processes,
    close: async () => {
      await processes[Symbol.asyncDispose]();
      await runner[Symbol.asyncDispose]();
    },
  };
};

/** A double fork into a session of its own, without our environment, deaf to SIGTERM. */
const daemon = (tag: string): string =>
  `setsid -f env -i /bin/sh -c 'trap "" TERM HUP INT; (sleep ${tag} &) ; sleep ${tag}' >/dev/null 2>&1 </dev/null`;

/** Without an end; in the short form with pauses, which leave other tests a processor. */
const flood = (tag: string): string =>
  isLong ? `yes ${tag}` : `while :; do yes ${tag} | head -c 700000; sleep 0.2; done`;

/** Deaf, with daemons, flooding, and looking for a terminal that is not its own. */
export const hostile = (tag: string): string =>
  `trap '' TERM HUP INT; ${daemon(tag)}; sleep ${tag} & (sleep ${tag} &) ; echo up; ${flood(tag)}`;

/** The traps are set and the daemons away when the flood begins. */
export const flooding = async (processes: Processes, id: string): Promise<void> => {
  for (let round = 0; round < 300; round++) {
    const { outputBytes, state } = await processes.read(id, { waitMs: 100 }, OWNER);
    if (state !== "running") throw new Error(`it is ${state} already`);
    if (outputBytes > 100_000) return;
  }
  throw new Error("no flood came");
};
