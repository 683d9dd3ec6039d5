import { insideRoots } from "../../../policy/paths.ts";
import { type OwnState, takeOwnState, undoOwnChanges } from "./own-changes.ts";
import type { GitRepository } from "./repository.ts";
import type { OwnRepository } from "./repository-lease.ts";

/** A run of git that writes its own directory: what it changed there besides data is undone afterwards. */
export const createOwnRun = <T>(
  repository: GitRepository,
  /** Paths that mounts hold now. Nothing can be mounted on what is not there. */
  findMounted: () => readonly string[],
  quarantine: (path: string) => Promise<T | undefined>,
): { readonly own: OwnRepository; readonly undo: () => Promise<readonly T[]> } => {
  let before: OwnState | undefined;
  let mounted: readonly string[] = [];
  return {
    own: {
      commonDir: repository.commonDir,
      begin: () => {
        before = takeOwnState(repository);
        mounted = findMounted();
      },
    },
    undo: async () =>
      before === undefined
        ? []
        : undoOwnChanges({
            repository,
            before,
            // Mounts held these, so that only the user can have changed them.
            isBeyondReach: (path) => insideRoots(path, mounted),
            quarantine,
          }),
  };
};
