import { posix } from "node:path";
import { insideRoots } from "../../../policy/paths.ts";
import type { JudgedCommand } from "../contract.ts";
import { SYSTEM_FILES, SYSTEM_FOLDERS } from "../tiers/system-folders.ts";

const ALWAYS_SEEN: readonly string[] = [...SYSTEM_FOLDERS, ...SYSTEM_FILES, "/proc", "/dev"];

/** Commands have one of their own; whoever climbs there from a workspace in the system's means what lies beside it. */
const TEMP = "/tmp";

/** Arguments that look like paths outside of what the program sees; they may be patterns all the same. */
export const unseenPaths = (
  args: readonly string[],
  { request: { cwd }, profile: { writable, readableRoots = [] } }: JudgedCommand,
): readonly string[] =>
  args.filter((arg) => {
    const isAbsolute = arg.startsWith("/");
    const isPath = isAbsolute || arg.split("/").includes("..");
    const seen = [...ALWAYS_SEEN, ...(isAbsolute ? [TEMP] : []), ...writable, ...readableRoots];
    return isPath && !insideRoots(posix.resolve(cwd, arg), seen);
  });
