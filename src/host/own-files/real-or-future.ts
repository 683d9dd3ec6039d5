import { isUtf8 } from "node:buffer";
import { realpathSync } from "node:fs";
import { posix } from "node:path";

/**
 * The real path, or the one it will have once it is created as a plain directory. It is fixed on first sight: a root
 * that appears later as a link, or is swapped for one, must not open what the link points to.
 */
export const realOrFuture = (path: string): string => {
  try {
    const real = realpathSync.native(path, { encoding: "buffer" });
    // A name that is not UTF-8 cannot be compared once decoded, so the configured path is used, which matches nothing.
    return isUtf8(real) ? real.toString() : path;
  } catch {
    return path === "/" ? path : posix.join(realOrFuture(posix.dirname(path)), posix.basename(path));
  }
};
