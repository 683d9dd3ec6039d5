import { setFlagsFromString } from "node:v8";

/** V8 compiles a function at its first call with the flags of that moment, which belong to the process: a thread has none. */
export const withV8Flags = (
  flags: readonly string[],
  usualFlags: readonly string[],
  work: () => void,
): void => {
  for (const flag of flags) setFlagsFromString(`--${flag}`);
  try {
    work();
  } finally {
    for (const flag of usualFlags) setFlagsFromString(`--${flag}`);
  }
};
