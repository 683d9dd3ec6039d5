import type { ConfigDisk } from "./load-request.ts";

type ReadDisk = Pick<ConfigDisk, "readText" | "realOrFuture" | "identityOf">;

/**
 * The disk without what a running command may have written: as long as nobody has checked that, a file reads as it did
 * before (REQ-D22). Otherwise a command could narrow the configuration of the server that runs it.
 */
export const createCheckedDisk = (
  disk: ReadDisk,
  mayBeOfCommand: (path: string) => boolean,
  /** Told of a file that says something else now and has to wait. */
  onWaiting: (path: string) => void,
): ReadDisk => {
  const known = new Map<string, string | undefined>();
  const isUnchecked = (path: string): boolean =>
    [...new Set([path, disk.realOrFuture(path)])].some(mayBeOfCommand);
  return {
    ...disk,
    // What is read then is not what the file says.
    identityOf: (path) => (isUnchecked(path) ? "unchecked" : disk.identityOf(path)),
    readText: async (path) => {
      const wasUnchecked = isUnchecked(path);
      const read = await disk.readText(path).then(
        (text) => ({ text }),
        (thrown: unknown) => ({ thrown }),
      );
      // A command may have started while the file was read.
      if (wasUnchecked || isUnchecked(path)) {
        if ("thrown" in read || read.text !== known.get(path)) onWaiting(path);
        return known.get(path);
      }
      if ("thrown" in read) throw read.thrown;
      known.set(path, read.text);
      return read.text;
    },
  };
};
