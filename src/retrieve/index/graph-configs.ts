import { isConfigFile } from "../../symbols/languages/all.ts";
import type { CurrentLines } from "./current-lines.ts";
import type { LoadedIndex } from "./loaded-index.ts";

/** Files that configure module resolution, read in advance because the graph works synchronously. */
export const createGraphConfigs = (loaded: LoadedIndex, lines: CurrentLines) => {
  const texts = new Map<string, string>();
  return {
    read: (path: string): string | undefined => texts.get(path),
    /** Reads the configuration files among the paths again. */
    refresh: async (paths: Iterable<string>, signal: AbortSignal | undefined): Promise<void> => {
      for (const path of paths) {
        if (!isConfigFile(path)) continue;
        const found = await lines.read(path, loaded.files.get(path)?.hash ?? "", signal);
        if (found === undefined) texts.delete(path);
        else texts.set(path, found.join("\n"));
      }
    },
  };
};
