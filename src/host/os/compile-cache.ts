import { getCompileCacheDir } from "node:module";
import { dirname } from "node:path";

/**
 * Where this process keeps its compiled code, if it does: the helper programs that it starts find theirs there, too.
 * Node names the folder of its own version inside it.
 */
export const compileCacheFolder = (): string | undefined => {
  const folder = getCompileCacheDir();
  return folder === undefined ? undefined : dirname(folder);
};
