/** A command that may write, while it runs and until what it left was checked. */
export interface LiveWriter {
  /** Whether it may have made or changed what is at a path since it was started. */
  mayHaveWritten(path: string): boolean;
}

/**
 * The running commands that may write. What they may have written is not obeyed before it was checked; who reads files
 * that the server obeys asks here.
 */
export type LiveWriters = ReturnType<typeof createLiveWriters>;

export const createLiveWriters = () => {
  const live = new Set<LiveWriter>();
  const listeners = new Set<() => void>();
  return {
    /** Returns the function that says that the writer has ended and was checked. */
    add: (writer: LiveWriter): (() => void) => {
      live.add(writer);
      return () => {
        if (!live.delete(writer)) return;
        for (const listener of [...listeners]) listener();
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
