import { deadlineOf } from "../../base/deadline-of.ts";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { randomId } from "../os/random-id.ts";
import type { CommandGate } from "../run/commands.ts";
import type { JudgedCommand } from "../run/contract.ts";
import type { LineRunner } from "../run/line/contract.ts";
import type { CommandStarter, StartedCommand } from "../run/runner.ts";
import { MAX_NEW_BESIDE } from "../run/scan/new-findings.ts";
import type { Channel, ProcessCall, Processes, ProcessOwner } from "./contract.ts";
import { inputActions } from "./input.ts";
import { killPid } from "./kill-pid.ts";
import { ManagedProcess } from "./managed-process.ts";
import { openPipeChannel } from "./pipe-channel.ts";
import {
  findProcess,
  forgetEnded,
  ownedProcesses,
  type ProcessRegistry,
  type ProcessSettings,
  reserveStart,
  runningProcesses,
} from "./process-registry.ts";
import { openTerminalChannel } from "./terminal-channel.ts";

interface ProcessesOptions {
  /** The workspace, which paths are shown relative to. */
  readonly root: string;
  readonly gate: CommandGate;
  readonly lines: Pick<LineRunner, "single">;
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
const TOO_MANY_NEW = `more than ${MAX_NEW_BESIDE} repositories and start-up files appeared while it ran`;

/** Unguessable, and short, because it is repeated in every call. */
const newProcessId = (): string => randomId("p_", 8);

interface State extends ProcessesOptions {
  readonly registry: ProcessRegistry;
  timer: NodeJS.Timeout | undefined;
  isClosed: boolean;
}

const tick = (state: State): void => {
  const { settings, registry, now } = state;
  const { enabled, idleMs } = settings();
  for (const one of runningProcesses(registry)) {
    if (!enabled) void one.end("running commands was switched off", STOP_GRACE_MS);
    else if (now() - one.activeAt > idleMs)
      void one.end(`idle for ${Math.round(idleMs / 1000)} s`, STOP_GRACE_MS);
    void one.quarantineNew().then((hasTooMany) => {
      if (hasTooMany) void one.end(TOO_MANY_NEW, STOP_GRACE_MS);
    });
  }
  forgetEnded(registry, now());
  if (registry.all.size > 0) return;
  clearInterval(state.timer);
  state.timer = undefined;
};

/** Until the deadline of the call, less the time to say that it was reached. */
const ANSWER_MS = 1000;
const MAX_TURN_WAIT_MS = 60_000;

const lockWaitMs = (signal: AbortSignal | undefined): number =>
  Math.min(MAX_TURN_WAIT_MS, deadlineOf(signal) - performance.timeOrigin - performance.now() - ANSWER_MS);

const launchJudged = async (
  { root, runner, now }: State,
  { command, pty }: ProcessCall,
  { owner }: ProcessOwner,
  judged: JudgedCommand,
  signal: AbortSignal | undefined,
): Promise<ManagedProcess> => {
  const channel: Channel = pty ? openTerminalChannel() : openPipeChannel();
  let started: StartedCommand | undefined;
  try {
    stopIfAborted(signal);
    const onTerminal = { ...judged, request: { ...judged.request, terminal: pty } };
    started = await runner.start(onTerminal, () => channel.childStdio());
    const parts = { root, id: newProcessId(), ownerId: owner, command, pty, channel, now };
    const made = new ManagedProcess(parts, started);
    return made;
  } catch (thrown) {
    // Otherwise the process would keep running without an owner.
    await started?.tree.end(0);
    channel.close();
    throw thrown;
  }
};

const endInTime = (one: ManagedProcess, maxMs: number): void => {
  const reason = `git that can write runs for ${Math.round(maxMs / 1000)} s at most (mcp.tools.max_exec_timeout), since others wait for it`;
  const timer = setTimeout(() => void one.end(reason, STOP_GRACE_MS), maxMs).unref();
  void one.gone.finally(() => clearTimeout(timer));
};

/** It holds the write lock until its program runs; it cannot keep it for hours. */
const launch = async (
  state: State,
  call: ProcessCall,
  owner: ProcessOwner,
  signal: AbortSignal | undefined,
): Promise<ManagedProcess> => {
  const { gate, lines } = state;
  const session = { ...owner, principal: owner.owner };
  const program = await lines.single(
    { command: call.command, cwd: call.cwd, may: owner.may, session },
    signal,
  );
  const asked = { ...program, timeoutSeconds: undefined, session: owner, outlivesCall: true };
  const wait = { signal, waitMs: lockWaitMs(signal), principal: owner.owner };
  return gate.withWriteLock(await gate.writerOf(asked, signal), wait, (lock) =>
    gate.pass(asked, lock, signal, async (judged) => {
      const made = await launchJudged(state, call, owner, judged, signal);
      // Git's own directory is compared with what it was before, so nothing else may write meanwhile.
      if (judged.request.git !== undefined && lock !== undefined) {
        lock.keepUntil(made.gone);
        endInTime(made, state.settings().maxLockMs);
      }
      await made.tree.entered();
      return made;
    }),
  );
};

/** Waits until the output pauses, so that an answer is read whole. */
const settle = async (
  one: ManagedProcess,
  waitMs: number,
  signal: AbortSignal | undefined,
  since?: number,
): Promise<void> => {
  await one.settle(since, waitMs, QUIET_MS, signal);
  stopIfAborted(signal);
};

/** From its first moment on it is listed, watched and ended like any other, however long its starter waits for output. */
const register = async (
  state: State,
  call: ProcessCall,
  owner: ProcessOwner,
  signal: AbortSignal | undefined,
): Promise<ManagedProcess> => {
  stopIfAborted(signal);
  const release = reserveStart(state.registry, owner.owner, state.settings());
  try {
    const made = await launch(state, call, owner, signal);
    state.registry.all.set(made.id, made);
    state.timer ??= setInterval(() => tick(state), TICK_MS).unref();
    return made;
  } finally {
    release();
  }
};

const start = async (
  state: State,
  call: ProcessCall,
  owner: ProcessOwner,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<ManagedProcess> => {
  const made = await register(state, call, owner, signal);
  try {
    if (state.isClosed) throw new LlmcError("unavailable", "The server is ending.");
    await settle(made, waitMs, signal);
    if (made.failure !== undefined) throw made.failure;
    return made;
  } catch (thrown) {
    // The caller does not learn its id.
    await made.end("its start was cancelled", 0);
    state.registry.all.delete(made.id);
    throw thrown;
  }
};

const sendInput = (one: ManagedProcess, request: Parameters<Processes["send"]>[1]): void => {
  const actions = inputActions(request, one.pty);
  if (!one.isRunning)
    throw new LlmcError("unavailable", "The process has ended.", { hint: "linux_proc_read tells how." });
  one.noteInput();
  for (const action of actions) {
    if (action.kind === "signal") one.tree.send(action.signal);
    else if (action.kind === "eof") one.channel.endInput();
    else if (!one.channel.write(action.bytes))
      throw new LlmcError("busy", "The process does not read its input: too much waits already.", {
        hint: "Read its output, or stop it.",
      });
  }
};

const killByPid = (
  { registry, runner, settings }: State,
  pid: number,
  signal: NodeJS.Signals,
  owner: string,
): void => {
  const treesOf = (isMeant: (ownerId: string) => boolean) =>
    runningProcesses(registry).flatMap(({ ownerId, tree }) => (isMeant(ownerId) ? [tree] : []));
  killPid(pid, signal, {
    own: treesOf((ownerId) => ownerId === owner),
    others: [...treesOf((ownerId) => ownerId !== owner), ...runner.awaited()],
    killForeign: settings().killForeign,
  });
};

export const createProcesses = (options: ProcessesOptions): Processes & AsyncDisposable => {
  const registry: ProcessRegistry = { all: new Map(), starting: new Map() };
  const state: State = {
    ...options,
    registry,
    timer: undefined,
    isClosed: false,
  };
  const find = (id: string, { owner }: ProcessOwner): ManagedProcess => findProcess(registry, id, owner);

  return {
    start: async (call, owner, waitMs, signal) => (await start(state, call, owner, waitMs, signal)).read({}),

    read: async (id, { from, lines, waitMs }, owner, signal) => {
      const one = find(id, owner);
      one.activeAt = options.now();
      await settle(one, waitMs, signal, from);
      return one.read({ from, lines });
    },

    send: async (id, request, owner, signal) => {
      const one = find(id, owner);
      const { input = "" } = request;
      // A line that ends in a newline is complete; the others get one.
      const echo = one.pty && !one.hasUnread && input !== "" ? input.replace(/\n?$/, "\n") : "";
      sendInput(one, request);
      one.activeAt = options.now();
      await one.settleAnswer(echo, request.waitMs, QUIET_MS, signal);
      stopIfAborted(signal);
      const output = one.read({});
      // The echo of the input is removed, because the caller knows it.
      return echo !== "" && output.text.startsWith(echo)
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
        killByPid(state, target.pid, signal, owner.owner);
        return undefined;
      }
      const one = find(target.id, owner);
      if (signal === "SIGKILL") await one.end("killed", 0);
      else one.tree.send(signal);
      return one.view();
    },

    list: async ({ owner }) => ownedProcesses(registry, owner).map((one) => one.view()),

    endAll: async (owner, reason) => {
      const own = ownedProcesses(registry, owner);
      await Promise.all(own.map((one) => one.end(reason, CLOSE_GRACE_MS)));
      for (const { id } of own) registry.all.delete(id);
    },

    [Symbol.asyncDispose]: async () => {
      state.isClosed = true;
      clearInterval(state.timer);
      // The runner waits for the checks of all commands, for a limited time.
      await Promise.all(
        runningProcesses(registry).map((one) => one.endTree("the server ended", CLOSE_GRACE_MS)),
      );
    },
  };
};
