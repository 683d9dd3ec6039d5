import { posix } from "node:path";
import { insideRoots } from "../../../policy/paths.ts";
import type { JudgedCommand } from "../contract.ts";
import { SYSTEM_FILES, SYSTEM_FOLDERS } from "../tiers/system-folders.ts";

const ALWAYS_SEEN: readonly string[] = [...SYSTEM_FOLDERS, ...SYSTEM_FILES, "/proc", "/dev", "/tmp"];

/** Arguments that look like paths outside of what the program sees; they may be patterns all the same. */
export const unseenPaths = (
  args: readonly string[],
  { request: { cwd }, profile: { writable, readableRoots = [] } }: JudgedCommand,
): readonly string[] =>
  args.filter((arg) => {
    const isPath = arg.startsWith("/") || arg.split("/").includes("..");
    return isPath && !insideRoots(posix.resolve(cwd, arg), [...ALWAYS_SEEN, ...writable, ...readableRoots]);
  });
