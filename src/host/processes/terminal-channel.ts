import { closeSync, writeSync } from "node:fs";
import { ReadStream } from "node:tty";
import type { Channel } from "./contract.ts";
import { MAX_WAITING_BYTES } from "./pipe-channel.ts";
import { openPseudoTerminal } from "./pseudo-terminal.ts";

/** Retries while the terminal takes no more input, in milliseconds. */
const RETRY_MS = [5, 10, 20, 50, 100] as const;
const WRITE_BYTES = 1024;
const CTRL_D = Buffer.from([4]);

/**
 * Writes without ever blocking: libuv waits in a loop for a terminal whose reader does not read, and with it the
 * whole server would wait.
 */
const createWriter = (fd: number) => {
  const queue: Buffer[] = [];
  let waiting = 0;
  let retry = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const pump = (): void => {
    timer = undefined;
    while (!isClosed && queue.length > 0) {
      const head = queue[0] as Buffer;
      try {
        const written = writeSync(fd, head, 0, Math.min(head.length, WRITE_BYTES));
        waiting -= written;
        retry = 0;
        if (written === head.length) queue.shift();
        else queue[0] = head.subarray(written);
        if (written > 0) continue;
      } catch (thrown) {
        const { code } = thrown as NodeJS.ErrnoException;
        if (code !== "EAGAIN") {
          stop();
          return;
        }
      }
      timer = setTimeout(pump, RETRY_MS[Math.min(retry++, RETRY_MS.length - 1)]).unref();
      return;
    }
  };
  const stop = (): void => {
    isClosed = true;
    clearTimeout(timer);
    queue.length = 0;
  };
  return {
    stop,
    write: (bytes: Buffer): boolean => {
      if (waiting + bytes.length > MAX_WAITING_BYTES) return false;
      if (isClosed) return true;
      queue.push(bytes);
      waiting += bytes.length;
      if (timer === undefined) pump();
      return true;
    },
  };
};

/** A pseudo-terminal of our own: the process never sees the one that the server may have been started from. */
export const openTerminalChannel = (): Channel => {
  const { master, child } = openPseudoTerminal();
  const stream = new ReadStream(master);
  const writer = createWriter(master);
  let isTaken = false;
  const ended = new Promise<void>((resolve) => {
    stream.once("close", () => {
      writer.stop();
      resolve();
    });
    // EIO is how a terminal tells that nobody holds its other end any more.
    stream.on("error", () => {
      writer.stop();
      stream.destroy();
    });
  });
  return {
    childStdio: () => {
      isTaken = true;
      return [child, child, child];
    },
    onData: (listener) => void stream.on("data", listener),
    ended,
    write: writer.write,
    endInput: () => void writer.write(CTRL_D),
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
    close: () => {
      writer.stop();
      stream.destroy();
      if (!isTaken) closeSync(child);
      isTaken = true;
    },
  };
};
