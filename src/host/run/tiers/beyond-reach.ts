import { posix } from "node:path";
import { insideRoots } from "../../../policy/paths.ts";
import type { SandboxProfile, Tier } from "./contract.ts";
import { foldersAbove } from "./landlock-rules.ts";

type Confinement = Pick<SandboxProfile, "writable" | "readOnly" | "reopened" | "hidden" | "withheld">;

/** Tells of a new name whether a command so confined could not have made it: then it is somebody else's. */
export const beyondReach = (
  tier: Tier,
  { writable, readOnly, reopened = [], hidden, withheld = [] }: Confinement,
): ((path: string) => boolean) => {
  if (tier === "plain") return () => false;
  // Landlock lets nothing be made in a folder that holds something guarded.
  const closed =
    tier === "landlock"
      ? writable.flatMap((root) => [...foldersAbove([...readOnly, ...hidden, ...withheld], root)])
      : [];
  const shut = new Set(closed);
  return (path) =>
    !insideRoots(path, reopened) && (!insideRoots(path, writable) || shut.has(posix.dirname(path)));
};
