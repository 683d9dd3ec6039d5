import { posix } from "node:path";
import { insideRoots } from "../../../policy/paths.ts";
import type { SandboxProfile, Tier } from "./contract.ts";
import { foldersAbove } from "./landlock-rules.ts";

type Confinement = Pick<
  SandboxProfile,
  "writable" | "protectedInside" | "writableAgain" | "hidden" | "withheld"
>;

/** Whether a command with this profile could not have created a new name, so that somebody else must have. */
export const createReachCheck = (
  tier: Tier,
  { writable, protectedInside, writableAgain = [], hidden, withheld = [] }: Confinement,
): ((path: string) => boolean) => {
  if (tier === "plain") return () => false;
  // Landlock lets nothing be made in a folder that holds something guarded.
  const closed =
    tier === "landlock"
      ? writable.flatMap((root) => [...foldersAbove([...protectedInside, ...hidden, ...withheld], root)])
      : [];
  const shut = new Set(closed);
  return (path) =>
    !insideRoots(path, writableAgain) && (!insideRoots(path, writable) || shut.has(posix.dirname(path)));
};
