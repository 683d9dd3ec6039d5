import { isInside } from "../base/paths.ts";

/**
 * What version control systems other than git keep their repositories in, or the pointers to them, and obey: settings with
 * hooks and aliases, and files that say where these lie (`sharedpath` of Mercurial, `.jj/repo` as a file). So it is not asked
 * which of their files are obeyed: all of it is, as with `.git`. Subversion's `.svn` names no program.
 */
const FOLDERS = /(?:^|\/)(?:\.hg|\.jj|\.sl|\.bzr|\.pijul|_darcs)(?:\/|$)/i;

/** Whether a path is such a repository or pointer, or lies in one, as far as it is below one of the folders. */
export const isInOtherRepository = (path: string, folders: readonly string[]): boolean => {
  const top = folders.find((folder) => isInside(path, folder));
  return top !== undefined && FOLDERS.test(path.slice(top.length));
};
