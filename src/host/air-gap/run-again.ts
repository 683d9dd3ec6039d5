import { fstatSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { isatty } from "node:tty";
import { toLlmcError } from "../../base/error.ts";
import { linkByName } from "../net/named-socket.ts";
import type { Backend } from "./backend.ts";
import { type AirGapped, enterAirGap } from "./enter-air-gap.ts";
import { type Listen, openPort } from "./open-port.ts";
import { AIR_GAP_VARIABLE, INVOKE_SOCKET, type OpenedOutside } from "./opened-outside.ts";
import { openRelay } from "./relay.ts";

interface RunAgain {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly backends: readonly Backend[];
  /** The name outside of the Unix socket for other programs, which the program inside opens in the relay's folder. */
  readonly invokeSocket?: string | undefined;
  /** Where to listen for HTTP; the port is opened in the machine's network, before the air gap is entered. */
  readonly listen?: Listen | undefined;
}

const isSet = (entry: [string, string | undefined]): entry is [string, string] => entry[1] !== undefined;

const isOpen = (descriptor: number): boolean => {
  try {
    fstatSync(descriptor);
    return true;
  } catch {
    return false;
  }
};

/** A terminal sends an interrupt to every process in its foreground; only elsewhere it has to be forwarded. */
const forwardSignals = (pid: number): void => {
  const forward = (signal: NodeJS.Signals) => (): void => {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended, and so will this program.
    }
  };
  // Not by `process.stdin`, which would take hold of a stream that is the other program's.
  const isAtTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  process.on("SIGINT", isAtTerminal ? () => {} : forward("SIGINT"));
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, forward(signal));
};

const exitCodeOf = async ({ gone }: AirGapped): Promise<number> => {
  const { code, signal } = await gone;
  return signal === null ? (code ?? 1) : 128 + constants.signals[signal];
};

/** Links the inner socket to its name outside. If another server has that name, this one goes on without it. */
const nameInvokeSocket = async (
  path: string | undefined,
  folder: string,
): Promise<{ readonly refusal?: string; readonly remove?: () => void }> => {
  if (path === undefined) return {};
  try {
    return { remove: await linkByName(path, join(folder, INVOKE_SOCKET)) };
  } catch (thrown) {
    const { code, message } = toLlmcError(thrown);
    if (code !== "busy") throw thrown;
    return { refusal: message };
  }
};

const streamsOf = (env: RunAgain["env"]): number[] => {
  const streams = [0, 1, 2];
  // The launcher hands the client's stream over as the next one.
  const protocol = Number(env["LLMC_PROTOCOL_FD"] ?? 2);
  while (streams.length <= protocol) streams.push(isOpen(streams.length) ? streams.length : 2);
  return streams;
};

/**
 * Runs this very program once more, with the same arguments, streams and variables, in an air gap, and resolves to its exit
 * code. What stays outside passes bytes on, between the configured backends and it, and between it and its clients.
 */
export const runAgainInAirGap = async ({
  env,
  cwd,
  backends,
  invokeSocket,
  listen,
}: RunAgain): Promise<number> => {
  await using opened = new AsyncDisposableStack();
  const relay = await openRelay(backends);
  opened.defer(() => relay.close());
  const named = await nameInvokeSocket(invokeSocket, relay.folder);
  opened.defer(() => named.remove?.());
  const streams = streamsOf(env);
  const port = listen === undefined ? undefined : await openPort(listen, relay.folder);
  opened.defer(() => port?.close());
  const outside: OpenedOutside = {
    folder: relay.folder,
    backends,
    ...(port && { http: { descriptor: streams.length, port: port.port, secret: port.secret } }),
    ...(named.refusal !== undefined && { invokeRefusal: named.refusal }),
  };
  const entering = enterAirGap({
    argv: [process.execPath, ...process.execArgv, ...process.argv.slice(1)],
    env: Object.fromEntries([
      ...Object.entries(env).filter(isSet),
      [AIR_GAP_VARIABLE, JSON.stringify(outside)],
    ]),
    cwd,
    stdio: port === undefined ? streams : [...streams, port.descriptor],
    visible: [relay.folder],
  });
  // It was inherited by now. Held here as well, it would keep connections that nobody takes.
  port?.closeInner();
  const inside = await entering;
  forwardSignals(inside.pid);
  return await exitCodeOf(inside);
};
