import { statSync } from "node:fs";

/** Tells a file from another that took its name; undefined where there is none. */
export const fileIdentity = (path: string): string | undefined => {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
};
