/** Signals to a running server from outside. */
export interface Signals {
  /** Calls back each time that the server is told to stop. */
  onStop(listener: () => void): void;
  /** The same for a part of the server that the terminal's interrupt is not meant for: another part ends it. */
  onTerminate(listener: () => void): void;
  /** Calls back each time that the server is told to read its configuration again. */
  onReload(listener: () => void): void;
  /** Calls back for errors that no code waits for, in a timer or a promise. */
  onStray(listener: (error: unknown, kind: string) => void): void;
}

export const processSignals: Signals = {
  onStop: (listener) => {
    process.on("SIGTERM", listener);
    process.on("SIGINT", listener);
  },
  onTerminate: (listener) => {
    process.on("SIGTERM", listener);
    process.on("SIGINT", () => {});
  },
  onReload: (listener) => void process.on("SIGHUP", listener),
  onStray: (listener) => {
    process.on("unhandledRejection", (reason) => listener(reason, "unhandled promise rejection"));
    process.on("uncaughtException", (error) => listener(error, "uncaught exception"));
  },
};
