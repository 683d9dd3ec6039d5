import { lstatSync } from "node:fs";

/** Tells a file from another that took its name, a link among them; undefined where there is none. */
export const fileIdentity = (path: string): string | undefined => {
  try {
    const { dev, ino } = lstatSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
};
