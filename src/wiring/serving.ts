import { LlmcError } from "../base/error.ts";
import { describeCause } from "../observe/cause.ts";
import type { App } from "./app.ts";
import type { Signals } from "./signals.ts";

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
