import { posix } from "node:path";
import { insideRoots } from "../../../policy/paths.ts";
import type { JudgedCommand } from "../contract.ts";
import { SYSTEM_FILES, SYSTEM_FOLDERS } from "../tiers/system-folders.ts";
import type { UnseenPath } from "./contract.ts";

const ALWAYS_SEEN: readonly string[] = [...SYSTEM_FOLDERS, ...SYSTEM_FILES, "/proc", "/dev"];

/** Commands have one of their own; whoever climbs there from a workspace in the system's means what lies beside it. */
const TEMP = "/tmp";

/** A temporary file in an argument, also in the middle of a script. */
const TEMP_FILE = /(?<![\w./-])\/tmp\/[^\s'"`;,)]{1,200}/;

const kindOf = (
  arg: string,
  { request: { cwd }, profile: { writable, readableRoots = [] } }: JudgedCommand,
): UnseenPath | undefined => {
  const shown = [...writable, ...readableRoots];
  const isAbsolute = arg.startsWith("/");
  const path = posix.resolve(cwd, arg);
  const isPath = isAbsolute || arg.split("/").includes("..");
  // A `/` alone mostly separates something: cut -d /
  if (isPath && arg !== "/" && shown.some((root) => root !== path && insideRoots(root, [path])))
    return { kind: "above", path: arg };
  const [file = ""] = TEMP_FILE.exec(arg) ?? [];
  if (file !== "" && !insideRoots(posix.normalize(file), shown))
    return { kind: "temporary", path: file, isWriter: writable.length > 0 };
  const seen = [...ALWAYS_SEEN, ...(isAbsolute ? [TEMP] : []), ...shown];
  return isPath && !insideRoots(path, seen) ? { kind: "outside", path: arg } : undefined;
};

/** Arguments that look like paths of which the program sees something else, or nothing; they may be patterns nevertheless. */
export const unseenPaths = (args: readonly string[], command: JudgedCommand): readonly UnseenPath[] =>
  args.flatMap((arg) => kindOf(arg, command) ?? []);
