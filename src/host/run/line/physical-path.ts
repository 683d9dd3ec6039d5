import { posix } from "node:path";
import type { Access } from "../../reach/access.ts";

/**
 * A path made absolute as the kernel would: `..` behind a link leads to the folder that holds the link's target, not to
 * the one that holds the link. Programs of the line run in the real folder, so redirections and globs start there too.
 */
export const physicalPath = async (
  access: Access,
  cwd: string,
  path: string,
  signal: AbortSignal | undefined,
): Promise<string> => {
  const names = path.split("/");
  if (!names.includes("..")) return posix.resolve(cwd, path);
  let current = path.startsWith("/") ? "/" : cwd;
  for (const name of names)
    current =
      name === ".."
        ? posix.dirname(await access(current, signal, ({ realPath }) => realPath))
        : posix.join(current, name);
  return current;
};
