import { accessSync, constants } from "node:fs";

/** Where programs are searched for, and the PATH that they get; never the server's own, which may lead anywhere. */
export const SYSTEM_PATH: readonly string[] =
  "/usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin".split(" ");

/** A program of the base system. `/usr/local` is left out: who may write there is the administrator's choice. */
export const findSystemProgram = (name: string): string | undefined =>
  [`/usr/bin/${name}`, `/bin/${name}`].find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
