import { setFlagsFromString } from "node:v8";
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";

const LOCK = "llmc: V8 flags";
const [FREE, TAKEN] = [0, 1];

/** The flags belong to the process, so its threads take turns. Threads inherit the lock from the one that starts them. */
export const shareV8Flags = (): Int32Array => {
  const known: unknown = getEnvironmentData(LOCK);
  if (known instanceof SharedArrayBuffer) return new Int32Array(known);
  const memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  setEnvironmentData(LOCK, memory);
  return new Int32Array(memory);
};

const inTurn = (lock: Int32Array, work: () => void): void => {
  while (Atomics.compareExchange(lock, 0, FREE, TAKEN) !== FREE) Atomics.wait(lock, 0, TAKEN);
  try {
    work();
  } finally {
    Atomics.store(lock, 0, FREE);
    Atomics.notify(lock, 0, 1);
  }
};

/** V8 compiles a function at its first call with the flags of that moment. */
export const withV8Flags = (
  flags: readonly string[],
  usualFlags: readonly string[],
  work: () => void,
): void =>
  inTurn(shareV8Flags(), () => {
    for (const flag of flags) setFlagsFromString(`--${flag}`);
    try {
      work();
    } finally {
      for (const flag of usualFlags) setFlagsFromString(`--${flag}`);
    }
  });
