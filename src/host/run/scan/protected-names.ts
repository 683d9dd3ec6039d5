import { lstatSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { isInside } from "../../../base/paths.ts";
import { insideRoots, isState } from "../../../policy/paths.ts";
import { readOwnFile } from "../../own-files/read-own-file.ts";
import { systemPath } from "../../reach/byte-path.ts";
import { identify } from "../../reach/identity.ts";
import type { Saved } from "../git/own-changes.ts";
import type { SandboxProfile } from "../tiers/contract.ts";
import { exists, forceBelow, makeBelow, quarantine } from "./quarantine.ts";
import type { Quarantined } from "./quarantined.ts";

/** What llmc itself obeys is short; of what is longer, only the place is guarded. */
const MAX_SAVED_BYTES = 1024 * 1024;

export interface Restoring {
  /** Not of what may be the work of a process that runs beside it. */
  isAllowed(path: string): boolean;
  /** Notes that llmc wrote it. */
  note(path: string, content: Buffer): void;
}

interface Guarded {
  readonly root: string;
  readonly path: string;
  /** Undefined where nothing was there. */
  identity: string | undefined;
  /** How it was, if it was a link or a short file. */
  saved: Saved | undefined;
}

/** Undefined for what is not a short file, or cannot be read. */
const saveFile = (path: string): (Saved & { readonly kind: "file"; readonly names: number }) | undefined => {
  try {
    const { mode, nlink } = lstatSync(path);
    const content = readOwnFile(path, { maxBytes: MAX_SAVED_BYTES, noFollow: true });
    return { kind: "file", content, mode: mode & 0o777, names: nlink };
  } catch {
    return undefined;
  }
};

const saveLink = (path: string): Saved | undefined => {
  try {
    return { kind: "link", target: readlinkSync(systemPath(path)) };
  } catch {
    return undefined;
  }
};

/** Whether a file has the text that it had, and no other name under which somebody could change that later. */
const hasText = (path: string, content: Buffer): boolean => {
  const now = saveFile(path);
  return now !== undefined && now.names === 1 && now.content.equals(content);
};

/** Whether it is the very file that was there, out of reach ever since. */
const isUntouched = ({ path, identity }: Guarded, unguarded: readonly string[]): boolean =>
  identity !== undefined && identify(path) === identity && !insideRoots(path, unguarded);

const isKnown = (one: Guarded, unguarded: readonly string[]): boolean => {
  const { path, saved } = one;
  if (isUntouched(one, unguarded)) return true;
  if (saved?.kind === "file") return hasText(path, saved.content);
  return saved === undefined && identify(path) === undefined;
};

/**
 * Renames what is there now, and brings back what was there: without the configuration that the operator wrote, or with
 * that of a command, more would be allowed.
 */
const putBack = async (one: Guarded, restoring: Restoring | undefined): Promise<readonly Quarantined[]> => {
  const { root, path, saved } = one;
  if (!(await exists(root))) return [];
  const moved = await quarantine(root, path);
  const renamed = moved === undefined ? [] : [moved];
  if (saved === undefined) return renamed;
  const failure = await forceBelow(root, path, saved).catch((thrown: NodeJS.ErrnoException) => thrown);
  if (saved.kind === "link") one.identity = identify(path);
  if (saved.kind === "file") restoring?.note(path, saved.content);
  // Somebody has made another one meanwhile: as long as the command runs, the next check sees it.
  const isBack = failure === undefined || failure.code === "EEXIST";
  if (!isBack) return [...renamed, { kind: "not put back", path: path.toWellFormed() }];
  return moved === undefined ? [{ kind: "put back", path: path.toWellFormed() }] : renamed;
};

/**
 * Creates a hidden folder and those above it, so that it can be covered: a command could make them otherwise. Where we
 * may not create them, neither may the command.
 */
const makeHidden = (root: string, path: string): Promise<boolean> =>
  makeBelow(root, path).then(
    () => true,
    () => false,
  );

/**
 * A mount or a rule needs an existing target, and an empty placeholder would show up in `ls` and `git status`. So a
 * hidden folder is created before the run. A file that must not be written is checked after the run: if it was created,
 * is another one than before, or lost its mount, it is renamed, but never deleted, because the user may have written it,
 * and the one that was there comes back. What llmc itself wrote meanwhile stays.
 */
export const watchProtected = async (
  { hidden, protectedInside, replaceable = [], writable }: SandboxProfile,
  isLlmcWrite: (path: string) => boolean,
  restoring?: Restoring,
): Promise<{
  /** Renames those that are new. */
  quarantine(unguarded: readonly string[]): Promise<readonly Quarantined[]>;
  /** Whether what is at or below a path was there before, and read-only or covered since then. */
  isHeld(path: string, unguarded: readonly string[]): boolean;
}> => {
  const guarded: Guarded[] = [];
  const saveKnown = (path: string): Saved | undefined =>
    restoring?.isAllowed(path) === true ? saveFile(path) : undefined;
  const held = new Map(protectedInside.map((path) => [path, identify(path)]));
  for (const path of new Set([...hidden, ...protectedInside])) {
    const root = writable.find((folder) => isInside(path, folder));
    if (root === undefined || path === root || basename(path) === "") continue;
    const link = saveLink(path);
    // Nothing can be mounted on a link, and no mount keeps a command from replacing it.
    const isCovered =
      hidden.includes(path) &&
      link === undefined &&
      (identify(path) !== undefined || (await makeHidden(root, path)));
    const identity = identify(path);
    if (isCovered) held.set(path, identity);
    const mayChange = identity !== undefined && insideRoots(path, replaceable) && link === undefined;
    // State that appears in a workspace is judged with all else that is new; the user's own folders only here.
    const isJudgedElsewhere = mayChange || (isCovered && isState(path));
    if (!isJudgedElsewhere) guarded.push({ root, path, identity, saved: link ?? saveKnown(path) });
  }
  return {
    quarantine: async (unguarded) => {
      const isTrusted = (one: Guarded): boolean => isUntouched(one, unguarded) || isLlmcWrite(one.path);
      const changed = guarded.filter((one) => !isKnown(one, unguarded) && !isLlmcWrite(one.path));
      // What the operator has written since then is what comes back, if the command writes over it later.
      for (const one of guarded.filter((each) => !changed.includes(each) && isTrusted(each))) {
        const saved = saveLink(one.path) ?? saveKnown(one.path);
        if (isTrusted(one)) one.saved = saved;
      }
      return (await Promise.all(changed.map((one) => putBack(one, restoring)))).flat();
    },
    isHeld: (path, unguarded) => {
      const holding = [...held].filter(([protectedPath]) => isInside(path, protectedPath));
      return holding.some(
        ([name, identity]) =>
          identity !== undefined && identify(name) === identity && !insideRoots(name, unguarded),
      );
    },
  };
};
