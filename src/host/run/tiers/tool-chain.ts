import { homedir } from "node:os";
import { dirname } from "node:path";
import { isInside } from "../../../base/paths.ts";

const PROGRAM_FOLDERS = /\/(bin|sbin|libexec|\.bin)$/;

/**
 * What must be readable to run a program from outside the system's folders: the prefix it was installed under
 * (`…/versions/3.12` of `…/versions/3.12/bin/python`), or the file alone where that prefix would open more than
 * a tool chain: a home, something above it, a dot folder in it (`~/.local`, `~/.cargo` hold keys), `/opt`.
 */
export const toolChainOf = (program: string, home = homedir()): string => {
  const folder = dirname(program);
  if (!PROGRAM_FOLDERS.test(folder)) return program;
  const prefix = dirname(folder);
  const isTooWide =
    prefix.split("/").length < 3 ||
    isInside(home, prefix) ||
    (dirname(prefix) === home && prefix.startsWith(`${home}/.`));
  return isTooWide ? program : prefix;
};
