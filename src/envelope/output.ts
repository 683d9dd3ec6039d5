import { createSpool, type Spool } from "../host/run/tree/spool.ts";

/** Of each stream, what is read for a summary; the handle keeps more. */
const STDOUT_HEAD_BYTES = 4 * 1024 * 1024;
const STDERR_HEAD_BYTES = 1024 * 1024;

const textOf = (spool: Spool, withEnd: boolean): string => {
  const bytes = spool.head();
  const head = bytes.toString("utf8");
  const tail = withEnd ? spool.tail() : Buffer.alloc(0);
  if (tail.length === 0) return head;
  const missing = spool.totalBytes - bytes.length - tail.length;
  const gap = missing > 0 ? `${head.endsWith("\n") ? "" : "\n"}[${missing} more bytes]\n` : "";
  return `${head}${gap}${tail.toString("utf8")}`;
};

/** Both streams of a command. */
export const createOutput = (maxHandleBytes: number) => {
  const out = createSpool({
    headBytes: Math.min(STDOUT_HEAD_BYTES, maxHandleBytes / 2),
    keptBytes: Math.floor(maxHandleBytes * 0.8),
  });
  const err = createSpool({
    headBytes: Math.min(STDERR_HEAD_BYTES, maxHandleBytes / 16),
    keptBytes: Math.floor(maxHandleBytes * 0.1),
  });
  return {
    get bytes(): number {
      return out.totalBytes + err.totalBytes;
    },
    /** More came than the texts hold. */
    get isLong(): boolean {
      return out.tail().length > 0 || err.tail().length > 0;
    },
    onOutput: (stream: "stdout" | "stderr", chunk: Buffer): void =>
      (stream === "stdout" ? out : err).write(chunk),
    /** The beginning, and the end where the middle is missing. */
    stdout: (withEnd: boolean): string => textOf(out, withEnd),
    stderr: (): string => textOf(err, true),
    *lines(): Generator<string> {
      yield* out.lines();
      if (err.totalBytes === 0) return;
      yield "[stderr]";
      yield* err.lines();
    },
    close: (): void => {
      out.close();
      err.close();
    },
  };
};

export type Output = ReturnType<typeof createOutput>;
