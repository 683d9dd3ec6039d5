import { realpathSync } from "node:fs";
import { posix } from "node:path";
import { insideRoots } from "../../../policy/paths.ts";
import { isOnMachine } from "../../os/system-programs.ts";
import type { CommandRequest } from "./contract.ts";

const realOf = (path: string): string | undefined => {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
};

/**
 * See `CommandRequest.calledAs`. The launcher looks the name up again, so callers must not be able to write to any folder
 * on the way.
 */
export const findCalledAs = (
  typed: string,
  startPath: string,
  path: string,
  roots: readonly string[],
): string | undefined => {
  if (typed.includes("/")) return undefined;
  for (const folder of path.split(":")) {
    const real = realOf(folder);
    if (real === undefined) continue;
    if (insideRoots(real, roots)) return undefined;
    const found = posix.join(real, typed);
    if (isOnMachine(found)) return realOf(found) === realOf(startPath) ? typed : undefined;
  }
  return undefined;
};

/** The arguments for a launcher that looks a bare name up in PATH, as execvp(3) does. */
export const calledArgv = ({
  argv: [program, ...args],
  calledAs,
}: CommandRequest): readonly [string, ...string[]] => [calledAs ?? program, ...args];
