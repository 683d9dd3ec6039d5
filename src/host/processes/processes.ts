import { randomBytes } from "node:crypto";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { quoteForMessage } from "../../base/text.ts";
import type { CommandGate } from "../run/commands.ts";
import type { CommandStarter, StartedCommand } from "../run/runner.ts";
import type { Channel, ProcessCall, Processes, ProcessOwner } from "./contract.ts";
import { inputActions } from "./input.ts";
import { killPid } from "./kill-pid.ts";
import { ManagedProcess } from "./managed-process.ts";
import { createOrphanGuard } from "./orphan-guard.ts";
import { openPipeChannel } from "./pipe-channel.ts";
import { openTerminalChannel } from "./terminal-channel.ts";

export interface ProcessSettings {
  readonly enabled: boolean;
  readonly idleMs: number;
  /** Running at once. */
  readonly maxProcesses: number;
  readonly maxPerSession: number;
  readonly killForeign: boolean;
}

interface ProcessesOptions {
  readonly gate: CommandGate;
  readonly runner: CommandStarter;
  readonly settings: () => ProcessSettings;
  /** Milliseconds that only move forward. */
  readonly now: () => number;
}

/** Between SIGTERM and SIGKILL. */
const STOP_GRACE_MS = 3000;
/** At the end of the server, when a client waits for it. */
const CLOSE_GRACE_MS = 300;
/** Output that pauses this long is taken for an answer that is complete. */
const QUIET_MS = 100;
const TICK_MS = 1000;
/** Ended processes can still be read for a while: so many of each owner. */
const KEPT_ENDED = 32;
const KEPT_ENDED_MS = 600_000;

const ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789";

/** Not to be guessed, and short: it is written again in every call. */
const newProcessId = (): string =>
  `p_${Array.from(randomBytes(8), (byte) => ALPHABET[byte % ALPHABET.length]).join("")}`;

const notFound = (id: string): LlmcError =>
  new LlmcError("resource_not_found", `There is no process ${quoteForMessage(id)}.`, {
    hint: "linux_proc_list shows yours.",
  });

const tooMany = (limit: number, whose: string): LlmcError =>
  new LlmcError("busy", `${limit} processes run already, which is the most ${whose} may have.`, {
    hint: "Stop one of them first.",
  });

export const createProcesses = ({
  gate,
  runner,
  settings,
  now,
}: ProcessesOptions): Processes & AsyncDisposable => {
  const all = new Map<string, ManagedProcess>();
  const starting = new Map<string, number>();
  const guard = createOrphanGuard();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const running = (): readonly ManagedProcess[] => [...all.values()].filter(({ isRunning }) => isRunning);

  const find = (id: string, { owner }: ProcessOwner): ManagedProcess => {
    const found = all.get(id);
    if (found === undefined || found.ownerId !== owner) throw notFound(id);
    return found;
  };

  const forgetOld = (): void => {
    const ended = [...all.values()].filter(({ isRunning }) => !isRunning);
    for (const own of Map.groupBy(ended, ({ ownerId }) => ownerId).values()) {
      const excess = own.length - KEPT_ENDED;
      own
        .sort((one, other) => (one.endedAt ?? 0) - (other.endedAt ?? 0))
        .filter(({ endedAt }, index) => index < excess || now() - (endedAt ?? 0) > KEPT_ENDED_MS)
        .forEach(({ id }) => void all.delete(id));
    }
  };

  const tick = (): void => {
    const { enabled, idleMs } = settings();
    for (const one of running()) {
      if (!enabled) void one.end("running commands was switched off", STOP_GRACE_MS);
      else if (now() - one.activeAt > idleMs)
        void one.end(`idle for ${Math.round(idleMs / 1000)} s`, STOP_GRACE_MS);
      void one.inspect();
    }
    forgetOld();
    if (all.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };

  const reserve = (owner: string): (() => void) => {
    const { maxProcesses, maxPerSession } = settings();
    const waiting = [...starting.values()].reduce((sum, count) => sum + count, 0);
    const own = starting.get(owner) ?? 0;
    if (running().length + waiting >= maxProcesses) throw tooMany(maxProcesses, "this server");
    if (running().filter(({ ownerId }) => ownerId === owner).length + own >= maxPerSession)
      throw tooMany(maxPerSession, "one token or connection");
    starting.set(owner, own + 1);
    return () => {
      const left = (starting.get(owner) ?? 1) - 1;
      if (left === 0) starting.delete(owner);
      else starting.set(owner, left);
    };
  };

  const launch = (
    { command, cwd, pty }: ProcessCall,
    owner: ProcessOwner,
    signal: AbortSignal | undefined,
  ): Promise<ManagedProcess> =>
    gate.pass(
      { command, cwd, timeoutSeconds: undefined, maxOutputBytes: 0, session: owner },
      signal,
      async ({ request, profile }) => {
        const channel: Channel = pty ? openTerminalChannel() : openPipeChannel();
        let started: StartedCommand | undefined;
        try {
          stopIfAborted(signal);
          started = await runner.start({ ...request, terminal: pty }, profile, () => channel.childStdio());
          const parts = { id: newProcessId(), ownerId: owner.owner, command, pty, channel, now };
          const made = new ManagedProcess(parts, started);
          guard.watch(made.tree);
          void made.gone.then(() => guard.forget(made.tree));
          return made;
        } catch (thrown) {
          // Nobody would know of it.
          await started?.tree.end(0);
          channel.close();
          throw thrown;
        }
      },
    );

  const settled = async (
    one: ManagedProcess,
    waitMs: number,
    signal: AbortSignal | undefined,
    since?: number,
  ): Promise<void> => {
    await one.settle(since, waitMs, QUIET_MS, signal);
    stopIfAborted(signal);
  };

  return {
    start: async (call, owner, waitMs, signal) => {
      stopIfAborted(signal);
      const release = reserve(owner.owner);
      try {
        const made = await launch(call, owner, signal);
        try {
          if (isClosed) throw new LlmcError("unavailable", "The server is ending.");
          await made.tree.entered();
          await settled(made, waitMs, signal);
          if (made.failure !== undefined) throw made.failure;
        } catch (thrown) {
          // Nobody knows its id, so nobody could end it.
          await made.end("its start was cancelled", 0);
          throw thrown;
        }
        all.set(made.id, made);
        timer ??= setInterval(tick, TICK_MS).unref();
        return made.read({});
      } finally {
        release();
      }
    },

    read: async (id, { from, lines, waitMs }, owner, signal) => {
      const one = find(id, owner);
      one.activeAt = now();
      await settled(one, waitMs, signal, from);
      return one.read({ from, lines });
    },

    send: async (id, request, owner, signal) => {
      const one = find(id, owner);
      const actions = inputActions(request, one.pty);
      if (!one.isRunning)
        throw new LlmcError("unavailable", "The process has ended.", { hint: "linux_proc_read tells how." });
      const echo = one.pty && !one.hasUnread ? `${request.input ?? ""}\n` : "\n";
      for (const action of actions) {
        if (action.kind === "signal") one.tree.send(action.signal);
        else if (action.kind === "eof") one.channel.endInput();
        else if (!one.channel.write(action.bytes))
          throw new LlmcError("busy", "The process does not read its input: too much waits already.", {
            hint: "Read its output, or stop it.",
          });
      }
      one.activeAt = now();
      await settled(one, request.waitMs, signal);
      const output = one.read({});
      // The caller knows what they typed.
      return echo.length > 1 && output.text.startsWith(echo)
        ? { ...output, text: output.text.slice(echo.length) }
        : output;
    },

    stop: async (id, owner) => {
      const one = find(id, owner);
      await one.end("stopped", STOP_GRACE_MS);
      return one.read({});
    },

    kill: async (target, signal, owner) => {
      if ("pid" in target) {
        const treesOf = (isMeant: (ownerId: string) => boolean) =>
          running().flatMap(({ ownerId, tree }) => (isMeant(ownerId) ? [tree] : []));
        killPid(target.pid, signal, {
          own: treesOf((ownerId) => ownerId === owner.owner),
          others: [...treesOf((ownerId) => ownerId !== owner.owner), ...runner.awaited()],
          killForeign: settings().killForeign,
        });
        return undefined;
      }
      const one = find(target.id, owner);
      if (signal === "SIGKILL") await one.end("killed", 0);
      else one.tree.send(signal);
      return one.view();
    },

    list: async ({ owner }) =>
      [...all.values()].filter(({ ownerId }) => ownerId === owner).map((one) => one.view()),

    endAll: async (owner, reason) => {
      const own = [...all.values()].filter(({ ownerId }) => ownerId === owner);
      await Promise.all(own.map((one) => one.end(reason, CLOSE_GRACE_MS)));
      for (const { id } of own) all.delete(id);
    },

    [Symbol.asyncDispose]: async () => {
      isClosed = true;
      clearInterval(timer);
      await Promise.all(running().map((one) => one.end("the server ended", CLOSE_GRACE_MS)));
      guard.close();
    },
  };
};
