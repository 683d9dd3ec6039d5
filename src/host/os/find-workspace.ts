import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { CONFIG_FILE } from "../../base/paths.ts";
import { STATE_DIR } from "../../policy/paths.ts";

/** Whether it is there and belongs to us or to root: in a shared folder, somebody else's would be a trap. */
const isOurs = (path: string): boolean => {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  const me = process.getuid?.() ?? 0;
  return stats !== undefined && (me === 0 || stats.uid === me || stats.uid === 0);
};

/** A folder that cannot be accessed does not count as a workspace. */
const has = (folder: string, name: string): boolean => {
  try {
    return isOurs(join(folder, name));
  } catch {
    return false;
  }
};

/**
 * The workspace that a folder belongs to: the nearest one above with a configuration or a state of ours, else the top
 * of its git repository. Undefined elsewhere: nothing is to be kept there.
 */
export const findWorkspace = (from: string): string | undefined => {
  let gitTop: string | undefined;
  for (let folder = from; ; folder = dirname(folder)) {
    if (has(folder, CONFIG_FILE) || has(folder, STATE_DIR)) return folder;
    if (gitTop === undefined && has(folder, ".git")) gitTop = folder;
    if (folder === dirname(folder)) break;
  }
  return gitTop;
};
