import type { Channel } from "./contract.ts";

/** What one process may write in a window: 16 MiB a second. A flood then costs the server little, and others are served. */
const WINDOW_BYTES = 1_048_576;
const WINDOW_MS = 62.5;

/** Stops reading for the rest of the window once its bytes are spent; the writer waits, as at a full pipe. */
export const createThrottle = (channel: Pick<Channel, "pause" | "resume">) => {
  let opensAt = 0;
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  let isOff = false;
  return {
    count: (chunkBytes: number): void => {
      const now = performance.now();
      if (now - opensAt > WINDOW_MS) {
        opensAt = now;
        bytes = 0;
      }
      bytes += chunkBytes;
      if (isOff || bytes < WINDOW_BYTES || timer !== undefined) return;
      channel.pause();
      timer = setTimeout(
        () => {
          timer = undefined;
          channel.resume();
        },
        Math.max(1, opensAt + WINDOW_MS - now),
      ).unref();
    },
    /** The rest is to be read as it comes. */
    stop: (): void => {
      isOff = true;
      clearTimeout(timer);
      channel.resume();
    },
  };
};
