import { shownPath } from "../../../policy/paths.ts";

/** Why a path that may hold something obeyed was not renamed. */
const UNRESOLVED = {
  "not renamed": "still there: it could not be renamed",
  "new start-up file": "still there: a start-up file that appeared while the process ran",
  "put back": "put back as it was: it was gone when the command had ended",
  held: "put back as it was: git had changed or removed it, and no command changes it",
  "not put back":
    "gone, and could not be put back: bring it back by hand, since it may have forbidden something",
  "too many new": "too many repositories and start-up files appeared here while the process ran",
  "too many folders":
    "not checked completely: it has too many folders to scan after every command, so some new start-up files may not have been found",
  "nested too deeply":
    "not checked completely: what was renamed, or closed to us, contains more of the same, nested too deeply",
  "root moved":
    "not checked: this folder was moved while the command ran, and what the command created in it went along",
} as const;

/** What a command left behind, or may have left, that programs of the user would obey. */
export type Quarantined =
  /** Renamed to a name under which nothing reads it. */
  | { readonly kind: "renamed"; readonly path: string; readonly movedTo: string }
  | { readonly kind: keyof typeof UNRESOLVED; readonly path: string };

export interface ShownQuarantine {
  /** `OLD -> NEW`. */
  readonly renamed: readonly string[];
  /** `PATH (REASON)`. */
  readonly unresolved: readonly string[];
}

export const NOTHING_QUARANTINED: ShownQuarantine = { renamed: [], unresolved: [] };

/** A command can make thousands; nobody reads so many, and a model pays for each. */
const MAX_SHOWN = 20;

const shorten = (lines: readonly string[], max: number): readonly string[] =>
  lines.length <= max ? lines : [...lines.slice(0, max), `and ${lines.length - max} more`];

/** As answers, output and log show it: what mv brings back, and what somebody has to look at. */
export const showQuarantined = (
  quarantined: readonly Quarantined[],
  root: string,
  max = MAX_SHOWN,
): ShownQuarantine => {
  const renamed: string[] = [];
  const unresolved: string[] = [];
  for (const one of quarantined)
    if (one.kind === "renamed")
      renamed.push(`${shownPath(one.path, root)} -> ${shownPath(one.movedTo, root)}`);
    else unresolved.push(`${shownPath(one.path, root)} (${UNRESOLVED[one.kind]})`);
  return { renamed: shorten(renamed, max), unresolved: shorten(unresolved, max) };
};
