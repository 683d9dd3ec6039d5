import { bold, type Io, onOneLine, table, yellow } from "./io.ts";

interface HeldLock {
  readonly key: string;
  readonly pid: number;
  readonly fence: number;
  readonly acquiredAt: Date;
  readonly expiresAt: Date;
  readonly isDead: boolean;
}

/** Shows which process holds which file. */
export const runLocks = (
  locks: { list(): readonly HeldLock[] },
  io: Io,
  options: { readonly json: boolean },
): void => {
  const held = locks.list();
  if (options.json) {
    io.data(`${JSON.stringify(held, null, 2)}\n`);
    return;
  }
  if (held.length === 0) {
    io.out("No locks are held.\n");
    return;
  }
  const rows = held.map((lock) => [
    String(lock.pid),
    lock.acquiredAt.toISOString(),
    lock.expiresAt.toISOString(),
    String(lock.fence),
    onOneLine(lock.key),
  ]);
  const [head = "", ...lines] = table([["PROCESS", "SINCE", "UNTIL", "FENCE", "FILE"], ...rows]).split("\n");
  io.out(`${bold(head, io.hasColours)}\n`);
  lines.forEach((line, i) => {
    const note = held[i]?.isDead
      ? yellow("  (the process has ended; the next writer takes over)", io.hasColours)
      : "";
    io.out(`${line}${note}\n`);
  });
};
