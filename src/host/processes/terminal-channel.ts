import { closeSync, constants, openSync, writeSync } from "node:fs";
import type { ReadStream } from "node:tty";
import { LlmcError } from "../../base/error.ts";
import { sealDescriptors } from "../commands/seal-descriptors.ts";
import type { Channel } from "./contract.ts";
import { MAX_WAITING_BYTES } from "./pipe-channel.ts";

/** Wide, so that lines are not broken for a screen that nobody looks at. */
const COLUMNS = 160;
const ROWS = 40;
/** Retries while the terminal takes no more input, in milliseconds. */
const RETRY_MS = [5, 10, 20, 50, 100] as const;
const WRITE_BYTES = 1024;
const CTRL_D = Buffer.from([4]);

/** What the library gives besides what its types say. */
interface Terminal {
  readonly fd: number;
  readonly ptsName: string;
  readonly master: ReadStream;
  readonly slave: ReadStream;
}

interface PtyLibrary {
  open(options: { readonly cols: number; readonly rows: number; readonly encoding: null }): Terminal;
}

const missing = (cause: unknown): LlmcError =>
  new LlmcError("unavailable", "This machine has no pseudo-terminals for processes.", {
    hint: "Start the process without pty, or install llmc again with its optional packages.",
    cause,
  });

const loadLibrary = async (): Promise<PtyLibrary> => {
  const found: unknown = await import("@lydell/node-pty").catch((cause: unknown) => {
    throw missing(cause);
  });
  if (typeof found !== "object" || found === null || !("open" in found) || typeof found.open !== "function")
    throw missing("no open()");
  return found as PtyLibrary;
};

const openTerminal = (library: PtyLibrary): { readonly terminal: Terminal; readonly child: number } => {
  const terminal = library.open({ cols: COLUMNS, rows: ROWS, encoding: null });
  try {
    // The library's own end does not block, which programs take for the end of their input.
    const child = openSync(terminal.ptsName, constants.O_RDWR | constants.O_NOCTTY);
    // It opens ours so that children inherit it; a child that holds it would never see its terminal close.
    sealDescriptors();
    return { terminal, child };
  } catch (thrown) {
    terminal.master.destroy();
    throw missing(thrown);
  } finally {
    terminal.slave.destroy();
  }
};

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
export const openTerminalChannel = async (): Promise<Channel> => {
  const { terminal, child } = openTerminal(await loadLibrary());
  const writer = createWriter(terminal.fd);
  let isTaken = false;
  const ended = new Promise<void>((resolve) => {
    terminal.master.once("close", () => {
      writer.stop();
      resolve();
    });
    // EIO is how a terminal tells that nobody holds its other end any more.
    terminal.master.on("error", () => {
      writer.stop();
      terminal.master.destroy();
    });
  });
  return {
    childStdio: () => {
      isTaken = true;
      return [child, child, child];
    },
    onData: (listener) => void terminal.master.on("data", listener),
    ended,
    write: writer.write,
    endInput: () => void writer.write(CTRL_D),
    pause: () => void terminal.master.pause(),
    resume: () => void terminal.master.resume(),
    close: () => {
      writer.stop();
      terminal.master.destroy();
      if (!isTaken) closeSync(child);
      isTaken = true;
    },
  };
};
