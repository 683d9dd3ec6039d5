import { LlmcError } from "../base/error.ts";
import { newKey } from "../host/os/lazy-builtins.ts";
import { claimStdout, type ProtocolStreams } from "../host/os/stdio.ts";
import { createStateCodec } from "../mcp/questions.ts";
import { openStdioDoor } from "../mcp/stdio.ts";
import { describeCause } from "../observe/cause.ts";
import { type App, type AppRequest, createApp } from "./app.ts";
import { BANNER } from "./banner.ts";
import type { Signals } from "./signals.ts";
import { VERSION } from "./version.ts";

export const mcpPartsOf = (app: App) => ({
  core: app.core,
  version: VERSION,
  codec: createStateCodec(newKey),
});

/** Resolves when the server is told to stop; until then it reloads its configuration when it is told to. */
export const untilStopped = (app: App, signals: Signals): Promise<void> =>
  new Promise((resolve) => {
    signals.onStop(resolve);
    signals.onReload(() => void app.config.reload());
  });

/** An error in a timer or an unawaited promise of a custom module is logged and does not end the session. */
export const surviveStrays = ({ observer: { log } }: App, signals: Signals): void =>
  signals.onStray((error, kind) => log.error(describeCause(error), kind));

export const refuseDisabled = (app: App): void => {
  if (!app.config.current().config.mcp.enabled) {
    throw new LlmcError("unavailable", "mcp.enabled is false: the server does not start.", {
      hint: "Set it to true in llmc.toml.",
    });
  }
};

/** Milliseconds after the start, when the client has its tool list: the first call then finds the engines loaded. */
const PRELOAD_MS = 300;

/** Loads the engines ahead of the first call, which also recovers what a killed process left behind. */
export const preload = (app: App): void => {
  setTimeout(() => {
    void app.engines().catch(() => {});
    void app.audit.ready()?.catch(() => {});
  }, PRELOAD_MS).unref();
};

/** Says with both prices that a file names no mode. The client has its tool list by then: counting takes a while. */
export const warnOfUnnamedMode = (app: App): void => {
  const warn = async (): Promise<void> => {
    const { describeUnnamedMode, isModeUnnamed } = await import("./mode-prices.ts");
    if (isModeUnnamed(app.config.current())) app.observer.log.info({}, await describeUnnamedMode(app.core));
  };
  setTimeout(() => void warn().catch(() => {}), PRELOAD_MS).unref();
};

/** Serves a client over a pair of streams, until its input ends or the server is told to stop. */
export const serveStreams = async (
  request: AppRequest,
  streams: ProtocolStreams,
  signals: Signals,
  onServing: (app: App) => void = () => {},
): Promise<void> => {
  const app = await createApp(request);
  refuseDisabled(app);
  surviveStrays(app, signals);
  const door = openStdioDoor({
    ...mcpPartsOf(app),
    ...streams,
    maxFrameBytes: () => app.config.current().config.mcp.limits.max_frame_bytes,
    newId: app.newId,
    onRefused: (reason) => app.observer.log.warn({ reason }, "message refused"),
    onError: (error) => app.observer.log.warn(describeCause(error), "message refused"),
  });
  if (streams.isTerminal) request.stderr.write(BANNER);
  else
    app.observer.log.info(
      { version: VERSION, mode: app.core.settings().mode, tools: app.core.health().tools },
      "serving on stdio",
    );
  preload(app);
  warnOfUnnamedMode(app);
  onServing(app);
  await Promise.race([door.closed, untilStopped(app, signals)]);
  await door.close();
  await app.close();
};

export const serveStdio = (
  request: AppRequest,
  signals: Signals,
  onServing?: (app: App) => void,
): Promise<void> => {
  const { LLMC_PROTOCOL_FD: fd } = request.env;
  return serveStreams(request, claimStdout(fd === undefined ? undefined : Number(fd)), signals, onServing);
};
