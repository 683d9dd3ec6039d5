import { lstatSync } from "node:fs";
import { isMissing } from "../../../base/system-error.ts";
import { systemPath } from "../../reach/byte-path.ts";

export interface Identity {
  /** Names the very file or folder, wherever it is moved. */
  readonly identity: string;
  /** It is a file with several names, which cannot be told from one that was only given another name. */
  readonly hasOtherNames: boolean;
}

/** Undefined where nothing is there. */
export const identify = (path: string): Identity | undefined => {
  try {
    const stats = lstatSync(systemPath(path));
    const file = `${stats.dev}:${stats.ino}:${stats.birthtimeMs}`;
    const hasOtherNames = stats.isFile() && stats.nlink > 1;
    // Nothing can hold a link where it is, or keep another name from bringing a file back. Both change this time.
    const identity = stats.isSymbolicLink() || hasOtherNames ? `${file}:${stats.ctimeMs}` : file;
    return { identity, hasOtherNames };
  } catch (thrown) {
    // What cannot be accessed is there, and its identity is unknown.
    return isMissing(thrown) ? undefined : { identity: path, hasOtherNames: false };
  }
};
