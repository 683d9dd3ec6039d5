import { lstatSync } from "node:fs";
import { LlmcError } from "../../base/error.ts";
import { isInside } from "../../base/paths.ts";
import { readOwnFile } from "../own-files/read-own-file.ts";
import type { Saved } from "./git/own-changes.ts";
import { forceBelow, quarantine } from "./scan/quarantine.ts";
import type { Quarantined } from "./scan/quarantined.ts";

/** Files by hand are short; a tree of packages has hundreds of names that only look like secrets. */
const MAX_FILES = 256;
const MAX_BYTES = 16 * 1024 * 1024;

type SavedFile = Extract<Saved, { readonly kind: "file" }>;

const read = (path: string, maxBytes: number): SavedFile | undefined => {
  try {
    const { mode } = lstatSync(path);
    return { kind: "file", content: readOwnFile(path, { maxBytes, noFollow: true }), mode: mode & 0o777 };
  } catch {
    return undefined;
  }
};

const cannotBeKept = (): LlmcError =>
  new LlmcError("forbidden", "Withheld files that git keeps were changed, and are too large to be held.", {
    hint: "No sandbox works on this machine (see `llmc doctor`). The user does this in a terminal.",
  });

/**
 * Without a sandbox nothing keeps git from a file that it decides to write. So what no command changes is read before
 * git runs, and put back if it is another one afterwards, whatever git reports. `changed` are those that git keeps with
 * another content: of them, none may be lost; of the others as many as fit, the topmost first.
 */
export const createHeldContents = (
  paths: readonly string[],
  changed: ReadonlySet<string>,
  roots: readonly string[],
): (() => Promise<readonly Quarantined[]>) => {
  const depth = (path: string): number => path.split("/").length;
  const first = [...changed];
  const others = paths.filter((path) => !changed.has(path)).toSorted((a, b) => depth(a) - depth(b));
  const saved = new Map<string, SavedFile>();
  let bytes = 0;
  for (const path of [...first, ...others].slice(0, Math.max(MAX_FILES, first.length))) {
    const file = read(path, MAX_BYTES - bytes);
    if (file === undefined && changed.has(path)) throw cannotBeKept();
    if (file === undefined) continue;
    bytes += file.content.length;
    saved.set(path, file);
  }
  const putBack = async (path: string, file: SavedFile): Promise<readonly Quarantined[]> => {
    const root = roots.find((folder) => isInside(path, folder));
    const now = read(path, MAX_BYTES);
    if (root === undefined || now?.content.equals(file.content) === true) return [];
    // What git wrote there is in git.
    const moved = await quarantine(root, path);
    const isBack = await forceBelow(root, path, file).then(
      () => true,
      () => false,
    );
    const report: Quarantined = { kind: isBack ? "held" : "not put back", path: path.toWellFormed() };
    return moved === undefined ? [report] : [report, moved];
  };
  return async () => {
    const found: Quarantined[] = [];
    for (const [path, file] of saved) found.push(...(await putBack(path, file)));
    return found;
  };
};
