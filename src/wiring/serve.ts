import { describeDropped } from "../base/describe-dropped.ts";
import { newKey } from "../host/os/lazy-builtins.ts";
import { claimStdout, type ProtocolStreams } from "../host/os/stdio.ts";
import { createStateCodec } from "../mcp/questions.ts";
import { openStdioDoor } from "../mcp/stdio.ts";
import { describeCause } from "../observe/cause.ts";
import { type App, type AppRequest, createApp } from "./app.ts";
import { BANNER } from "./banner.ts";
import { openInvokeSocket } from "./invoke-socket.ts";
import { refuseUnsandboxed } from "./sandbox-wanted.ts";
import { preload, refuseDisabled, surviveStrays, untilStopped, warnOfUnnamedMode } from "./serving.ts";
import type { Signals } from "./signals.ts";
import { VERSION } from "./version.ts";

export const mcpPartsOf = (app: App) => ({
  core: app.core,
  version: VERSION,
  codec: createStateCodec(newKey),
});

/** Serves a client over a pair of streams, until its input ends or the server is told to stop. */
export const serveStreams = async (
  request: AppRequest,
  streams: ProtocolStreams,
  signals: Signals,
  onServing: (app: App) => void = () => {},
): Promise<void> => {
  const app = await createApp(request);
  refuseDisabled(app);
  refuseUnsandboxed(app.config.current(), "stdio");
  surviveStrays(app, signals);
  const door = openStdioDoor({
    ...mcpPartsOf(app),
    ...streams,
    maxFrameBytes: () => app.config.current().config.mcp.limits.max_frame_bytes,
    newId: app.newId,
    onRefused: (reason) => app.refusals.record("malformed", { transport: "stdio", detail: reason }),
    onDropped: (count) => request.stderr.write(`llmc: ${describeDropped(count)}\n`),
    onError: (error) => app.observer.log.warn(describeCause(error), "message refused"),
  });
  if (streams.isTerminal) request.stderr.write(BANNER);
  else
    app.observer.log.info(
      { version: VERSION, mode: app.core.settings().mode, tools: app.core.health().tools },
      "serving on stdio",
    );
  const closeSocket = await openInvokeSocket(app, request.env);
  preload(app);
  warnOfUnnamedMode(app);
  onServing(app);
  await Promise.race([door.closed, untilStopped(app, signals)]);
  closeSocket();
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
