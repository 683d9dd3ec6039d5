import { posix } from "node:path";

/** Where programs' stubs seem to lie. Nothing there is read from the disk: a clone could forge it. */
export const STUBS = ".llmc/stubs";

/** The path below the folder of stubs; undefined for any other path. */
export const stubPathOf = (path: string): string | undefined => {
  const normal = posix.normalize(path).replace(/\/$/, "");
  if (normal === STUBS) return "";
  return normal.startsWith(`${STUBS}/`) ? normal.slice(STUBS.length + 1) : undefined;
};
