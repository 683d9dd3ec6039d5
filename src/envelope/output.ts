import { createSpool, type Spool } from "../host/run/tree/spool.ts";

/** Of each stream, what is read for a summary; the handle keeps more. */
const STDOUT_HEAD_BYTES = 4 * 1024 * 1024;
const STDERR_HEAD_BYTES = 1024 * 1024;

/** Both streams of a command. */
export interface Output {
  readonly bytes: number;
  readonly onOutput: (stream: "stdout" | "stderr", chunk: Buffer) => void;
  /** The beginning, and the end where the middle is missing. */
  stdout(withEnd: boolean): string;
  stderr(): string;
  /** More came than the texts hold. */
  readonly isLong: boolean;
  lines(): Generator<string>;
  close(): void;
}

const textOf = (spool: Spool, withEnd: boolean): string => {
  const bytes = spool.head();
  const head = bytes.toString("utf8");
  const tail = withEnd ? spool.tail() : Buffer.alloc(0);
  if (tail.length === 0) return head;
  const missing = spool.totalBytes - bytes.length - tail.length;
  const gap = missing > 0 ? `${head.endsWith("\n") ? "" : "\n"}[${missing} more bytes]\n` : "";
  return `${head}${gap}${tail.toString("utf8")}`;
};

export const createOutput = (maxHandleBytes: number): Output => {
  const out = createSpool({
    headBytes: Math.min(STDOUT_HEAD_BYTES, maxHandleBytes / 2),
    keptBytes: Math.floor(maxHandleBytes * 0.8),
  });
  const err = createSpool({
    headBytes: Math.min(STDERR_HEAD_BYTES, maxHandleBytes / 16),
    keptBytes: Math.floor(maxHandleBytes * 0.1),
  });
  return {
    get bytes() {
      return out.totalBytes + err.totalBytes;
    },
    get isLong() {
      return out.tail().length > 0 || err.tail().length > 0;
    },
    onOutput: (stream, chunk) => (stream === "stdout" ? out : err).write(chunk),
    stdout: (withEnd) => textOf(out, withEnd),
    stderr: () => textOf(err, true),
    *lines() {
      yield* out.lines();
      if (err.totalBytes === 0) return;
      yield "[stderr]";
      yield* err.lines();
    },
    close: () => {
      out.close();
      err.close();
    },
  };
};
