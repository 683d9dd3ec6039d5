import type { Writable } from "node:stream";
import { createLineSplitter } from "../base/line-splitter.ts";
import { cleanName } from "../base/text.ts";
import { parseServe } from "../cli/serve-flags.ts";
import { descendsFrom, listenPrivately, ownUserId, peerOf } from "../host/net/private-socket.ts";
import { removeSocketFolder } from "../host/net/socket-folder.ts";
import { lazyParseArgs, newKey } from "../host/os/lazy-builtins.ts";
import { claimStdout } from "../host/os/stdio.ts";
import { createCallTable } from "../link/call-table.ts";
import { createEventLog } from "../link/event-log.ts";
import { createLinkServer } from "../link/link-server.ts";
import { createSealedState } from "../link/sealed-state.ts";
import { type App, createApp } from "./app.ts";
import { keepForNextStart, snapshotOf } from "./keep-start.ts";

import { requestOf, type Start } from "./request.ts";
import { preload, refuseDisabled, surviveStrays, warnOfUnnamedMode } from "./serve.ts";
import { VERSION } from "./version.ts";

/** What the supervisor tells a core when it starts it. */
export interface CoreHello {
  readonly argv: readonly string[];
  readonly generation: number;
  /** A private folder for the socket. */
  readonly folder: string;
  readonly socketPath: string;
  readonly token: string;
  /** Where to keep what the next start can use. */
  readonly cachePath: string;
}

/** The descriptor by which it reports to the supervisor. */
const REPORT_FD = 3;
const MAX_CONTROL_BYTES = 1_048_576;
/** Requests whose answers the client does not have yet; the supervisor reads fewer lines than that ahead. */
const MAX_ENTRIES = 10_000;
const MAX_RESULT_BYTES = 64 * 1024 * 1024;
/** A request of the front is a frame of the client in other words. */
const WRAPPING_BYTES = 1_048_576;
/** Fronts that may be there at once: while one replaces another, and one ends. */
const MAX_FRONTS = 4;

/** Keeps the supervisor and the fronts informed of what clients may list. */
const publishSnapshots = (app: App, report: (word: string, rest?: string) => void) => {
  const events = createEventLog();
  let last = "";
  const publish = (): void => {
    const snapshot = snapshotOf(app);
    const text = JSON.stringify(snapshot);
    if (text === last) return;
    last = text;
    report("frame", String(snapshot.maxFrameBytes));
    report("snapshot", text);
    events.broadcast({ snapshot });
  };
  publish();
  app.core.onListChanged((kind) => {
    publish();
    events.add({ list: kind });
  });
  app.core.onResourceUpdated((uri) => events.add({ resource: uri }));
  app.core.onRefreshed(publish);
  return events;
};

interface Control {
  readonly hello: Promise<CoreHello>;
  /** Processes that are fronts of this server, as far as the supervisor has said so. */
  readonly fronts: ReadonlySet<number>;
  on(word: string, listener: (rest: string) => void): void;
  /** Resolves when the supervisor says so, or is gone. */
  readonly stopped: Promise<"told" | "gone">;
}

const readControl = (): Control => {
  const hello = Promise.withResolvers<CoreHello>();
  const stopped = Promise.withResolvers<"told" | "gone">();
  const fronts = new Set<number>();
  const addFront = (pid: number): void => {
    fronts.add(pid);
    const [oldest] = fronts;
    if (fronts.size > MAX_FRONTS && oldest !== undefined) fronts.delete(oldest);
  };
  const listeners = new Map<string, (rest: string) => void>([
    ["hello", (rest) => hello.resolve(JSON.parse(rest) as CoreHello)],
    ["front", (rest) => addFront(Number(rest))],
    ["stop", () => stopped.resolve("told")],
  ]);
  const splitter = createLineSplitter(() => MAX_CONTROL_BYTES, 0, {
    onLine: (line) => {
      const text = line.toString("utf8");
      const space = text.indexOf(" ");
      listeners.get(space === -1 ? text : text.slice(0, space))?.(space === -1 ? "" : text.slice(space + 1));
    },
    onOversize: () => {},
  });
  process.stdin.on("data", splitter.push);
  process.stdin.once("end", () => stopped.resolve("gone"));
  return {
    hello: hello.promise,
    fronts,
    on: (word, listener) => listeners.set(word, listener),
    stopped: stopped.promise,
  };
};

const createReports = (output: Writable) => {
  output.on("error", () => {});
  return (word: string, rest = ""): void =>
    void output.write(rest === "" ? `${word}\n` : `${word} ${rest}\n`);
};

const openLink = async (
  app: App,
  hello: CoreHello,
  control: Control,
  report: ReturnType<typeof createReports>,
) => {
  const { log } = app.observer;
  const table = createCallTable({
    generation: hello.generation,
    maxEntries: MAX_ENTRIES,
    maxResultBytes: MAX_RESULT_BYTES,
  });
  control.on("answered", (lines) => {
    for (const n of lines.split(" ")) table.forget(Number(n));
  });
  let peer = 0;
  const server = createLinkServer({
    core: app.core,
    state: createSealedState(newKey(), Date.now),
    connection: app.newId(),
    newId: app.newId,
    table,
    events: publishSnapshots(app, report),
    generation: hello.generation,
    token: hello.token,
    snapshot: () => snapshotOf(app),
    isFront: (socket) => {
      const found = peerOf(socket);
      if (found === undefined) return process.platform !== "linux";
      if (found.uid !== ownUserId() || !descendsFrom(found.pid, control.fronts)) return false;
      if (peer !== found.pid) report("peer", String(found.pid));
      peer = found.pid;
      return true;
    },
    onLog: (level, message) => log[level]({ front: cleanName(message) }, "from the front"),
    onRefused: (reason) => log.warn({ reason }, "a request over the link was refused"),
    maxBodyBytes: () => app.config.current().config.mcp.limits.max_frame_bytes + WRAPPING_BYTES,
  });
  await listenPrivately(server, hello.socketPath);
  return {
    close: (): void => {
      table.cancelAll();
      server.close();
      server.closeAllConnections();
    },
  };
};

/** The core as a process of its own: everything but the client's streams and what reads them. */
export const serveCore = async (start: Start): Promise<void> => {
  const control = readControl();
  const report = createReports(claimStdout(REPORT_FD).output);
  const hello = await control.hello;
  const options = parseServe(hello.argv, lazyParseArgs);
  if (options === undefined) throw new Error("the supervisor passed on arguments that it had not checked");
  const request = await requestOf(start, options, true);
  const app = await createApp(request);
  refuseDisabled(app);
  surviveStrays(app, start.signals);
  control.on("reload", () => void app.config.reload());
  start.signals.onReload(() => void app.config.reload());
  const link = await openLink(app, hello, control, report);
  const { log } = app.observer;
  log.info(
    { version: VERSION, mode: app.core.settings().mode, tools: app.core.health().tools },
    "serving on stdio",
  );
  report("ready");
  keepForNextStart(app, request, hello.cachePath);
  preload(app);
  warnOfUnnamedMode(app);
  const terminated = new Promise<"told">((resolve) => start.signals.onTerminate(() => resolve("told")));
  const reason = await Promise.race([control.stopped, terminated]);
  link.close();
  await app.close();
  if (reason === "gone") removeSocketFolder(hello.folder);
  process.stdin.destroy();
};
