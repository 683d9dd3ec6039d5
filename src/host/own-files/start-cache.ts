import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type FileIdentity, identityOf } from "./file-identity.ts";
import { readOwnFile } from "./read-own-file.ts";
import { replaceFile } from "./replace-file.ts";

interface CacheFile {
  readonly files: readonly (readonly [path: string, identity: FileIdentity])[];
  readonly value: unknown;
}

const MAX_BYTES = 4 * 1024 * 1024;
/** Of workspaces and flags that are used no more. */
const MAX_FILES = 100;

/** Where a value is kept for starts that are alike. */
export const startCachePath = (stateFolder: string, digest: string): string =>
  join(stateFolder, "starts", `${digest}.json`);

/** The value, unless one of the files that it was made from has changed, appeared or gone. */
export const readStartCache = (path: string): unknown => {
  try {
    const text = readOwnFile(path, { maxBytes: MAX_BYTES, noFollow: true }).toString("utf8");
    const { files, value } = JSON.parse(text) as CacheFile;
    return files.every(([file, identity]) => identityOf(file) === identity) ? value : undefined;
  } catch {
    return undefined;
  }
};

const prune = (folder: string, kept: string): void => {
  const others = readdirSync(folder).filter((name) => name !== kept);
  if (others.length < MAX_FILES) return;
  const byAge = others
    .map((name) => ({ name, usedAt: statSync(join(folder, name)).mtimeMs }))
    .toSorted((a, b) => a.usedAt - b.usedAt);
  for (const { name } of byAge.slice(0, others.length - MAX_FILES + 1)) rmSync(join(folder, name));
};

/** What files are like now. */
export const identitiesOf = (files: readonly string[]): CacheFile["files"] =>
  files.map((file) => [file, identityOf(file)] as const);

export const writeStartCache = async (
  path: string,
  files: CacheFile["files"],
  value: unknown,
): Promise<void> => {
  const text = JSON.stringify({ files, value } satisfies CacheFile);
  if (text.length > MAX_BYTES) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, text, 0o600);
  prune(dirname(path), basename(path));
};

export const removeStartCache = (path: string): void => rmSync(path, { force: true });
