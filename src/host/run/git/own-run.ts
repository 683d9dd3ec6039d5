import { insideRoots } from "../../../policy/paths.ts";
import { identify } from "../../reach/identity.ts";
import { type OwnState, takeOwnState, type UndoOptions, undoOwnChanges } from "./own-changes.ts";
import type { GitRepository } from "./repository.ts";
import type { OwnRepository } from "./repository-lease.ts";

/** What the sandbox was told to mount; what it could not is in `unguarded`. */
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

/** A run of git that writes its own directory: what it changed there besides data is undone afterwards. */
export const createOwnRun = <T>(
  repository: GitRepository,
  mounts: Mounts,
  { quarantine, restore }: Pick<UndoOptions<T>, "quarantine" | "restore">,
): {
  readonly ownRepository: OwnRepository;
  readonly undo: (unguarded: readonly string[]) => Promise<readonly T[]>;
} => {
  let before: OwnState | undefined;
  let identity = "";
  return {
    ownRepository: {
      commonDir: repository.commonDir,
      begin: () => {
        before = takeOwnState(repository);
        identity = identityOf(repository);
      },
    },
    undo: async (unguarded) =>
      // What lies there now is another one: it is judged as new.
      before === undefined || identity !== identityOf(repository)
        ? []
        : undoOwnChanges({
            repository,
            before,
            // Mounts held these, so that only the user can have changed them.
            isBeyondReach: (path) => isReadOnly(path, mounts) && !insideRoots(path, unguarded),
            quarantine,
            restore,
          }),
  };
};
