import { accessSync, constants } from "node:fs";

/** Where programs are searched for, and the PATH that they get; never the server's own, which may lead anywhere. */
export const SYSTEM_PATH: readonly string[] =
  "/usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin".split(" ");

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** Whether an entry of the allowlist, a name or a whole path, leads to a program of this machine. ripgrep is ours. */
export const isOnMachine = (entry: string): boolean =>
  entry.startsWith("/")
    ? isExecutable(entry)
    : entry === "rg" || SYSTEM_PATH.some((folder) => isExecutable(`${folder}/${entry}`));

/** A program of the base system. `/usr/local` is left out: who may write there is the administrator's choice. */
export const findSystemProgram = (name: string): string | undefined =>
  [`/usr/bin/${name}`, `/bin/${name}`].find(isExecutable);
