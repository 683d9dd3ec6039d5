import { insideRoots } from "../../../policy/paths.ts";
import { identify } from "../../reach/identity.ts";
import { takeOwnState, type UndoOptions, undoOwnChanges } from "./own-changes.ts";
import type { GitRepository } from "./repository.ts";

/** What the sandbox was asked to mount; what it could not mount is in `unguarded`. */
interface Mounts {
  readonly readOnly: readonly string[];
  /** Inside those: a submodule's git directory lies in the superproject's. */
  readonly writable: readonly string[];
}

const longest = (path: string, mounts: readonly string[]): number =>
  Math.max(0, ...mounts.filter((mount) => insideRoots(path, [mount])).map(({ length }) => length));

/** The innermost mount counts, and of two in one place the writable one, which is made later. */
const isReadOnly = (path: string, { readOnly, writable }: Mounts): boolean =>
  longest(path, readOnly) > longest(path, writable);

const identityOf = ({ gitDir, commonDir }: GitRepository): string =>
  `${identify(gitDir)} ${identify(commonDir)}`;

/** For a run of git that writes its own directory: what it changes there besides data is undone afterwards. */
export const createOwnUndo = <T>(
  repository: GitRepository,
  mounts: Mounts,
  { quarantine, restore }: Pick<UndoOptions<T>, "quarantine" | "restore">,
): ((unguarded: readonly string[]) => Promise<readonly T[]>) => {
  const before = takeOwnState(repository);
  const identity = identityOf(repository);
  return async (unguarded) =>
    // What lies there now is another one: it is judged as new.
    identity !== identityOf(repository)
      ? []
      : undoOwnChanges({
          repository,
          before,
          // Mounts held these, so that only the user can have changed them.
          isBeyondReach: (path) => isReadOnly(path, mounts) && !insideRoots(path, unguarded),
          quarantine,
          restore,
        });
};
