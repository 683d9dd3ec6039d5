import type { Cedar } from "./policy-file.ts";

/** An instance of Cedar's WebAssembly. One in which something was thrown is not used again: a trap leaves its stack as it was. */
export interface CedarInstance {
  run<T>(work: (cedar: Cedar) => T): T;
  /** Does it now, and in each instance that takes the place of this one before anything else. */
  prepare(work: (cedar: Cedar) => void): void;
}

export const createInstance = (load: () => Cedar): CedarInstance => {
  let current: Cedar | undefined;
  let prepared = (_cedar: Cedar): void => {};
  const open = (): Cedar => {
    const cedar = load();
    prepared(cedar);
    return cedar;
  };
  const run: CedarInstance["run"] = (work) => {
    try {
      current ??= open();
      return work(current);
    } catch (error) {
      current = undefined;
      throw error;
    }
  };
  return {
    run,
    prepare: (work) => {
      run(work);
      prepared = work;
    },
  };
};
