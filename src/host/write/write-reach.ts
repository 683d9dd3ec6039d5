import { statSync } from "node:fs";
import { systemErrorCode } from "../../base/system-error.ts";
import { pathDenied } from "../../policy/paths.ts";
import { entriesAt, judgeRemoval, judgeWrite, writeDenied } from "../../policy/reach.ts";
import { type Actor, OBEYED_IDS, REACH, type ReachId } from "../../policy/reach-table.ts";
import type { Reach } from "../reach/reach.ts";

/** The rules of one write, as they are at its start. The `refuse…` functions throw. */
export interface WriteReach extends Reach {
  /** Refuses a real path that is outside the roots or that nobody may reach, such as llmc's own state. */
  refuseOutside(requestedPath: string, realPath: string): void;
  /** Before anything is created, changed or removed under a real path. */
  refuseTarget(requestedPath: string, realPath: string): void;
  /** Before something is moved away or removed. */
  refuseRemoval(requestedPath: string, realPath: string): void;
  isRoot(path: string): boolean;
  /** The entry of the reach table that forbids the writer to change this real path, not counting secrets. */
  protects(realPath: string): ReachId | undefined;
  /** One of the protected files by another name: a hard link, or other letters where case does not count. */
  isProtectedFile(file: { readonly dev: bigint; readonly ino: bigint }): boolean;
}

/** Nothing at such a path can be opened by this process: a folder on PATH that it may not enter, links in a circle. */
const LEADS_NOWHERE = ["EACCES", "ELOOP", "ENAMETOOLONG"];

const isSameThing = (path: string, file: { readonly dev: bigint; readonly ino: bigint }): boolean => {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found !== undefined && found.dev === file.dev && found.ino === file.ino;
  } catch (error) {
    if (LEADS_NOWHERE.includes(systemErrorCode(error) ?? "")) return false;
    throw error;
  }
};

/** What an actor may write, within what the call may reach. */
export const writeReachOf = (reach: Reach, actor: Actor = "tools"): WriteReach => {
  const { rules, reachRules } = reach;
  const refuseOutside: WriteReach["refuseOutside"] = (requestedPath, realPath) => {
    const refusal = reach.refuseRead(realPath, "name");
    if (refusal !== undefined) throw pathDenied(requestedPath, refusal, rules);
  };
  return {
    ...reach,
    protects: (realPath) =>
      // Secrets have their own rule, and a pending write must not prevent the removal of its directory.
      entriesAt(realPath, reachRules).find(
        (id) => id !== "secret" && id !== "pending" && !REACH[id].write.includes(actor),
      ),
    isRoot: (path) => path === "/" || reachRules.roots.includes(path),
    isProtectedFile: (file) => {
      const closed = OBEYED_IDS.filter((id) => !REACH[id].write.includes(actor));
      return closed.flatMap((id) => reachRules.obeyedPaths[id]).some((path) => isSameThing(path, file));
    },
    refuseOutside,
    refuseTarget: (requestedPath, realPath) => {
      refuseOutside(requestedPath, realPath);
      const refusal = judgeWrite(realPath, actor, reachRules, "create");
      if (refusal !== undefined) throw writeDenied(requestedPath, refusal);
    },
    refuseRemoval: (requestedPath, realPath) => {
      const refusal = judgeRemoval(realPath, actor, reachRules);
      if (refusal !== undefined) throw writeDenied(requestedPath, refusal);
    },
  };
};
