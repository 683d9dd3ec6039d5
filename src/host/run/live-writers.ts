import { insideRoots } from "../../policy/paths.ts";

/** A command that may write, while it runs and until what it left has been checked. */
export interface LiveWriter {
  /** Whether it may have made or changed what is at a path since it was started. */
  mayHaveWritten(path: string): boolean;
}

/**
 * The running commands that may write. What they may have written is not obeyed before it has been checked: whoever loads
 * files that the server obeys must ask here first.
 */
export type LiveWriters = ReturnType<typeof createLiveWriters>;

/** `onUnchecked` is called when a command has ended and what it left could not be checked. */
export const createLiveWriters = (onUnchecked: () => void) => {
  const live = new Set<LiveWriter>();
  const listeners = new Set<() => void>();
  return {
    /** `writable`: the folders in which it may write. Returns the functions of which one ends it. */
    add: (writer: LiveWriter, writable: readonly string[]) => {
      live.add(writer);
      return {
        checked: (): void => {
          if (!live.delete(writer)) return;
          for (const listener of [...listeners]) listener();
        },
        /** What is in its folders stays unread until the server is started again. */
        unchecked: (): void => {
          if (!live.delete(writer)) return;
          live.add({ mayHaveWritten: (path) => insideRoots(path, writable) });
          onUnchecked();
        },
      };
    },
    mayHaveWritten: (path: string): boolean => [...live].some((writer) => writer.mayHaveWritten(path)),
    /** Calls back whenever a writer was checked; returns the function that removes the listener. */
    onChecked: (listener: () => void): (() => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
};
