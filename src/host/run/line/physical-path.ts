import { posix } from "node:path";
import { LlmcError } from "../../../base/error.ts";
import { quoteForMessage } from "../../../base/text.ts";
import type { Access } from "../../reach/access.ts";

/** The real path of a folder; `..` behind anything else leads nowhere. */
export const folderAt = (access: Access, path: string, signal: AbortSignal | undefined): Promise<string> =>
  access(path, signal, ({ realPath, stats }) => {
    if (!stats.isDirectory())
      throw new LlmcError("not_a_directory", `${quoteForMessage(path)} is not a directory.`, {
        details: { field: "command" },
      });
    return realPath;
  });

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
      name === ".." ? posix.dirname(await folderAt(access, current, signal)) : posix.join(current, name);
  return current;
};

/** Whether something is not there, rather than closed: a file in the place of a folder has nothing in it. */
export const isAbsent = (thrown: unknown): boolean =>
  thrown instanceof LlmcError && (thrown.code === "file_not_found" || thrown.code === "not_a_directory");
