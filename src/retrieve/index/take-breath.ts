/** Gives the event loop a turn: messages, timers and cancellations get through between two files. */
export const takeBreath = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
