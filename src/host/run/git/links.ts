import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { posix } from "node:path";
import { quoteForMessage } from "../../../base/text.ts";
import { insideRoots } from "../../../policy/paths.ts";
import { refusedRepository } from "../../git/files.ts";
import { MISSING, obeyedRealPath } from "../../git/obeyed-files.ts";
import { nameOf, systemPath } from "../../reach/byte-path.ts";
import type { Reach } from "../../reach/reach.ts";

/** Of a repository with many loose references; more are packed by git itself. */
const MAX_ENTRIES = 50_000;

/** Git shows nothing of a file that is no valid object; hooks do not run, and often are links to scripts of the project. */
const isNeverShown = (dir: string, name: string, top: string): boolean =>
  (dir === top && name === "hooks") ||
  (posix.basename(dir) === "objects" && (name === "pack" || /^[0-9a-f]{2}$/.test(name)));

const listOwnFolder = (dir: string): readonly Dirent<Buffer>[] => {
  try {
    return readdirSync(systemPath(dir), { withFileTypes: true, encoding: "buffer" });
  } catch {
    throw refusedRepository(`${quoteForMessage(posix.basename(dir))} in its git directory cannot be read`);
  }
};

/**
 * Git shows lines of its own files that it does not understand (`packed-refs`, `shallow`, `info/grafts` …): none of
 * them may be another name for a file that is withheld, or a link that leads out of the git directories.
 */
export const refuseBorrowedFiles = (dirs: readonly string[], { isWithheld }: Reach): void => {
  let entries = 0;
  const visit = (dir: string, top: string): void => {
    for (const entry of listOwnFolder(dir)) {
      const name = nameOf(entry.name);
      if (isNeverShown(dir, name, top)) continue;
      if (++entries > MAX_ENTRIES) throw refusedRepository("its git directory holds too many files to check");
      const path = posix.join(dir, name);
      if (entry.isDirectory()) visit(path, top);
      else if (entry.isSymbolicLink()) {
        const real = obeyedRealPath(path);
        if (real !== MISSING && !insideRoots(real, dirs))
          throw refusedRepository("a link in its git directory leads to a file outside it");
        // The file itself is checked, not its name, because a branch may have any name.
      } else if (!entry.isFile())
        throw refusedRepository("its git directory holds what is neither file nor folder");
      else if (isWithheld(top, lstatSync(systemPath(path))))
        throw refusedRepository("its git directory holds a file that is withheld");
    }
  };
  for (const dir of dirs) visit(dir, dir);
};
