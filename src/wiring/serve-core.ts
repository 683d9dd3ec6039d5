import type { Writable } from "node:stream";
import { createLineSplitter } from "../base/line-splitter.ts";
import { cleanName } from "../base/text.ts";
import { parseServe } from "../cli/serve-flags.ts";
import { connectTo } from "../host/net/link-sockets.ts";
import { isFrontOf } from "../host/net/private-socket.ts";
import { removeSocketFolder } from "../host/net/socket-folder.ts";
import { lazyParseArgs, newKey } from "../host/os/lazy-builtins.ts";
import { startedBy } from "../host/os/process-figures.ts";
import { claimStdout } from "../host/os/stdio.ts";
import { createCallTable } from "../link/call-table.ts";
import { createEventLog } from "../link/event-log.ts";
import { createFrontConnections } from "../link/front-connections.ts";
import { CONTROL_CONNECTIONS } from "../link/link-client.ts";
import { createLinkServer } from "../link/link-server.ts";
import { stdioOwner } from "../link/perform.ts";
import { createSealedState } from "../link/sealed-state.ts";
import { type App, createApp } from "./app.ts";
import { addPartGauges } from "./health-probes.ts";
import { openInvokeSocket } from "./invoke-socket.ts";
import { keepForNextStart, snapshotOf } from "./keep-start.ts";
import { requestOf, type Start } from "./request.ts";
import { preload, refuseDisabled, surviveStrays, warnOfUnnamedMode } from "./serving.ts";
import { VERSION } from "./version.ts";

/** What the supervisor tells a core when it starts it. */
export interface CoreHello {
  readonly argv: readonly string[];
  readonly generation: number;
  /** A private folder for sockets. */
  readonly folder: string;
  readonly token: string;
  /** The client's connection, which outlives a core. */
  readonly session: string;
  /** What its user answered with "never" while another core was there: keys in JSON. */
  readonly refused: readonly string[];
  /** Where to keep what the next start can use. */
  readonly cachePath: string;
  /** Somebody typed the command: they see a banner instead of the log line. */
  readonly isTerminal: boolean;
}

/** The descriptor by which it reports to the supervisor. */
const REPORT_FD = 3;
const MAX_CONTROL_BYTES = 1_048_576;
/** Requests whose answers the client does not have yet; the supervisor reads fewer lines than that ahead. */
const MAX_ENTRIES = 10_000;
const MAX_RESULT_CHARS = 64 * 1024 * 1024;
/** A request of the front is a frame of the client that was read and written again: `1e20` has 21 characters then. */
const REWRITTEN = 5;
const WRAPPING_BYTES = 1_048_576;

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
  on(word: string, listener: (rest: string) => void): void;
  /** Resolves when the supervisor says so, or is gone. */
  readonly stopped: Promise<"told" | "gone">;
}

const readControl = (): Control => {
  const hello = Promise.withResolvers<CoreHello>();
  const stopped = Promise.withResolvers<"told" | "gone">();
  /** What was said before anybody listened. */
  const unheard: (readonly [word: string, rest: string])[] = [];
  const listeners = new Map<string, (rest: string) => void>([
    ["hello", (rest) => hello.resolve(JSON.parse(rest) as CoreHello)],
    ["stop", () => stopped.resolve("told")],
  ]);
  const splitter = createLineSplitter(() => MAX_CONTROL_BYTES, 0, {
    onLine: (line) => {
      const text = line.toString("utf8");
      const space = text.indexOf(" ");
      const [word, rest] = space === -1 ? [text, ""] : [text.slice(0, space), text.slice(space + 1)];
      const listener = listeners.get(word);
      if (listener === undefined) unheard.push([word, rest]);
      else listener(rest);
    },
    onOversize: () => {},
  });
  process.stdin.on("data", splitter.push);
  process.stdin.once("end", () => stopped.resolve("gone"));
  return {
    hello: hello.promise,
    on: (word, listener) => {
      listeners.set(word, listener);
      for (const [earlier, rest] of unheard) if (earlier === word) listener(rest);
    },
    stopped: stopped.promise,
  };
};

const createReports = (output: Writable) => {
  output.on("error", () => {});
  return (word: string, rest = ""): void =>
    void output.write(rest === "" ? `${word}\n` : `${word} ${rest}\n`);
};

/** Whoever is asked for too many reasons is asked again in the end: the supervisor's list is bounded, too. */
const MAX_REFUSED_CHARS = 2000;

/** What the user refused for good holds for as long as the connection, whatever becomes of this process. */
const keepRefused = (
  { core }: App,
  { session, refused }: CoreHello,
  report: ReturnType<typeof createReports>,
): void => {
  core.refusedByUsers.restore(
    stdioOwner(session),
    refused.map((key) => String(JSON.parse(key))),
  );
  core.refusedByUsers.onRefused((_owner, key) => {
    const text = JSON.stringify(key);
    if (text.length <= MAX_REFUSED_CHARS) report("refused", text);
  });
};

const openLink = (app: App, hello: CoreHello, control: Control, report: ReturnType<typeof createReports>) => {
  const { log } = app.observer;
  const table = createCallTable({
    generation: hello.generation,
    maxEntries: MAX_ENTRIES,
    maxResultChars: MAX_RESULT_CHARS,
  });
  control.on("answered", (lines) => {
    for (const n of lines.split(" ")) table.forget(Number(n));
  });
  const maxConnections = (): number => app.config.current().config.mcp.performance.connection_pool_size;
  const server = createLinkServer({
    core: app.core,
    state: createSealedState(newKey(), Date.now),
    connection: hello.session,
    newId: app.newId,
    table,
    events: publishSnapshots(app, report),
    generation: hello.generation,
    token: hello.token,
    snapshot: () => snapshotOf(app),
    connections: maxConnections,
    admitConnection: (socket) => fronts.use(socket),
    frontOf: (connection) => fronts.nameOf(connection),
    onLog: (level, message) => log[level]({ front: cleanName(message) }, "from the front"),
    onRefused: (reason, count) =>
      app.refusals.record("malformed", { transport: "stdio", detail: cleanName(reason) }, count),
    maxBodyBytes: () => REWRITTEN * app.config.current().config.mcp.limits.max_frame_bytes + WRAPPING_BYTES,
  });
  const fronts = createFrontConnections({
    server,
    token: hello.token,
    connect: connectTo,
    isFront: (socket, front) => isFrontOf(socket, front, "our parent"),
    maxConnections: () => maxConnections() + CONTROL_CONNECTIONS,
    onRefused: (reason) => log.warn({ reason }, "a connection to a front was refused"),
  });
  let front = 0;
  control.on("front", (rest) => {
    const space = rest.indexOf(" ");
    front = Number(rest.slice(0, space));
    fronts.add(front, rest.slice(space + 1));
  });
  control.on("front-ended", (rest) => {
    const { path, open, wasPlanned } = JSON.parse(rest) as {
      readonly path: string;
      readonly open: readonly number[];
      readonly wasPlanned: boolean;
    };
    if (!wasPlanned) app.core.forgetGranted(stdioOwner(hello.session));
    const isOpen = new Set(open);
    fronts.remove(path);
    table.frontEnded(path, (n) => isOpen.has(n));
  });
  addPartGauges(app.metrics, () => ({ front, supervisor: startedBy() }));
  return {
    close: (): void => {
      table.cancelAll();
      fronts.close();
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
  keepRefused(app, hello, report);
  const link = openLink(app, hello, control, report);
  const { log } = app.observer;
  if (!hello.isTerminal)
    log.info(
      { version: VERSION, mode: app.core.settings().mode, tools: app.core.health().tools },
      "serving on stdio",
    );
  const reportMemory = (): void => report("memory", String(app.config.current().config.mcp.max_memory_mb));
  reportMemory();
  app.config.onChange(reportMemory);
  const closeSocket = await openInvokeSocket(app, request.env);
  report("ready");
  keepForNextStart(app, request, hello.cachePath);
  preload(app);
  warnOfUnnamedMode(app);
  const terminated = new Promise<"told">((resolve) => start.signals.onTerminate(() => resolve("told")));
  const reason = await Promise.race([control.stopped, terminated]);
  closeSocket();
  link.close();
  await app.close();
  if (reason === "gone") removeSocketFolder(hello.folder);
  process.stdin.destroy();
};
