import { posix } from "node:path";
import { follow, joinPath } from "../git/follow-path.ts";
import { costOfPath, type LookupBudget } from "./lookup-budget.ts";
import { resolveLinks } from "./path-rules.ts";

/** One way to a file. */
interface Walk {
  /** The links on the way by their real paths, in their order. Of a path that cannot be followed, where it leads now. */
  readonly links: readonly string[];
  /** Where it ends, whether something is there or not; undefined where that cannot be known (`/proc`, a loop). */
  readonly target: string | undefined;
  /** Whether something is there, as far as that can be known. */
  readonly exists: boolean;
}

/** What a path in an argument stands for, in absolute paths. */
export interface ReachedPath {
  /** By its text alone. */
  readonly written: string;
  /**
   * As the kernel walks, for which `..` after a link is the parent of where the link leads, and as it walks what git and
   * some other programs make of a path first, which is `written`.
   */
  readonly walks: readonly Walk[];
}

const walk = (folder: string, path: string, lookups: LookupBudget): Walk => {
  let cost = 0;
  const onQuestion = (asked: string): void => {
    cost += costOfPath(asked);
    lookups(costOfPath(asked));
  };
  try {
    return follow(path, "any link", { from: folder, onQuestion });
  } catch {
    // Where the budget is spent, that is why; otherwise the same way is gone again.
    lookups(cost);
    const real = resolveLinks(joinPath(folder, path))?.real;
    return { links: real === undefined ? [] : [real], target: undefined, exists: true };
  }
};

/**
 * The one place in which a path argument of a program that starts in a folder, a real path, becomes the file that the
 * program opens.
 */
export const reachedPath = (folder: string, argument: string, lookups: LookupBudget): ReachedPath => {
  lookups(costOfPath(folder) + costOfPath(argument));
  const written = posix.resolve(folder, argument);
  const isShortened = argument.split("/").includes("..");
  const paths = isShortened ? [argument, written] : [argument];
  return { written, walks: paths.map((path) => walk(folder, path, lookups)) };
};

/** Where the kernel ends, if that can be known. */
export const kernelTarget = ({ walks: [first] }: ReachedPath): string | undefined => first?.target;

/** Whether it certainly names nothing on the disk, neither a file nor a link on the way to one. */
export const namesNothing = ({ walks }: ReachedPath): boolean =>
  walks.every(({ links, exists }) => links.length === 0 && !exists);

/** Every path that is to be judged for an argument. */
export const pathsReached = ({ written, walks }: ReachedPath): readonly string[] => [
  ...new Set([
    written,
    ...walks.flatMap(({ links, target }) => (target === undefined ? links : [...links, target])),
  ]),
];

/** Whether text and walks all end where it is allowed; what cannot be followed does not. */
export const endsInside = ({ written, walks }: ReachedPath, isInside: (path: string) => boolean): boolean =>
  isInside(written) && walks.every(({ target }) => target !== undefined && isInside(target));
