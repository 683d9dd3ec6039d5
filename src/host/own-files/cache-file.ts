import { randomBytes } from "node:crypto";
import { mkdir, open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";

/** One large file that can be made again, in the user's state folder: no tool and no command reaches it. */
export interface CacheFile {
  /** The file, where it is there; whoever uses it finds out whether it is whole. */
  find(): Promise<string | undefined>;
  /** Puts a new one in its place. Undefined where nothing can be written: then it is made again each time. */
  keep(content: Buffer): Promise<string | undefined>;
}

/** Servers of other versions run beside this one, and use files of their own: what was used since then stays. */
const UNUSED_MS = 24 * 60 * 60 * 1000;

const removeUnused = async (folder: string, kind: string, own: string): Promise<void> => {
  const names = await readdir(folder);
  const others = names.map((name) => join(folder, name)).filter((path) => path !== own);
  for (const path of others.filter((one) => one.startsWith(join(folder, `${kind}-`)))) {
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > UNUSED_MS) await rm(path, { force: true });
  }
};

/** `kind` names what is kept, `version` everything that it depends on. */
export const createCacheFile = (userState: string, kind: string, version: string): CacheFile => {
  const folder = join(userState, "cache");
  const file = join(folder, `${kind}-${version}`);
  return {
    find: async () => {
      // Its time says when somebody last used it.
      const now = new Date();
      await utimes(file, now, now).catch(() => {});
      const found = await stat(file).catch(() => undefined);
      return found?.isFile() === true && found.size > 0 ? file : undefined;
    },
    keep: async (content) => {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        const temporary = `${file}.${randomBytes(6).toString("hex")}`;
        const handle = await open(temporary, "wx", 0o600);
        try {
          await handle.writeFile(content);
          await handle.sync();
        } finally {
          await handle.close();
        }
        await rename(temporary, file);
      } catch {
        return undefined;
      }
      // Another server may remove the same.
      await removeUnused(folder, kind, file).catch(() => {});
      return file;
    },
  };
};
