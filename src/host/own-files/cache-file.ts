import { randomBytes } from "node:crypto";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** One large file that can be made again, in the user's state folder: no tool and no command reaches it. */
export interface CacheFile {
  /** The file, where it is whole. */
  find(): Promise<string | undefined>;
  /** Replaces what older versions kept. Undefined where nothing can be written: then it is made again each time. */
  keep(content: Buffer): Promise<string | undefined>;
}

/** `kind` names what is kept, `version` everything that it depends on. */
export const createCacheFile = (userState: string, kind: string, version: string): CacheFile => {
  const folder = join(userState, "cache");
  const file = join(folder, `${kind}-${version}`);
  return {
    find: async () => {
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
        const others = (await readdir(folder)).filter((name) => name.startsWith(`${kind}-`));
        for (const name of others)
          if (join(folder, name) !== file) await rm(join(folder, name), { force: true });
        return file;
      } catch {
        return undefined;
      }
    },
  };
};
