import type { Signals } from "../src/wiring/signals.ts";

/** Signals that a test sends to a server in its own process. Errors that no code waits for are the test runner's. */
export const testSignals = () => {
  const stops: (() => void)[] = [];
  const reloads: (() => void)[] = [];
  const signals: Signals = {
    onStop: (listener) => void stops.push(listener),
    onTerminate: (listener) => void stops.push(listener),
    onReload: (listener) => void reloads.push(listener),
    onStray: () => {},
  };
  const all = (listeners: readonly (() => void)[]) => (): void => {
    for (const listener of [...listeners]) listener();
  };
  return { signals, stop: all(stops), reload: all(reloads) };
};
