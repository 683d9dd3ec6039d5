import { statSync } from "node:fs";

/** What tells one state of a file from another without reading it; null if there is no such file. */
export type FileIdentity = string | null;

export const identityOf = (path: string): FileIdentity => {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(":");
  } catch {
    return null;
  }
};
