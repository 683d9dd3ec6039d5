import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { chmod, type FileHandle, lstat, mkdir, open, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { SandboxProfile, SetAside } from "./contract.ts";

/** What cannot be looked at, because a folder above is closed to us, counts as there. */
const exists = async (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    (thrown: NodeJS.ErrnoException) => thrown.code !== "ENOENT" && thrown.code !== "ENOTDIR",
  );

export const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);

/** Not in `constants`: a descriptor that names a place without opening it. */
const O_PATH = 0o10000000;

/** Gives us back our rights to a folder, never through a link: the descriptor is what is changed. */
const makeListable = async (path: string): Promise<void> => {
  const place = await open(path, O_PATH | constants.O_NOFOLLOW | constants.O_DIRECTORY);
  try {
    await chmod(`/proc/self/fd/${place.fd}`, 0o700);
  } finally {
    await place.close();
  }
};

/**
 * Opens the folder one step below another without following a link: with a plain path, another command could
 * put a link there in the meantime and make us rename something outside.
 */
const step = async (folder: FileHandle, name: string): Promise<FileHandle> => {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  const path = `/proc/self/fd/${folder.fd}/${name}`;
  return await open(path, flags).catch(async (thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== "EACCES") throw thrown;
    await makeListable(path);
    return await open(path, flags);
  });
};

/** Renames what lies at a path below a root, step by step without following links. */
export const moveAside = async (root: string, path: string): Promise<SetAside | undefined> => {
  const names = path.slice(root.length).split("/").filter(Boolean);
  const last = names.pop();
  if (last === undefined) return undefined;
  const opened = [await open(root, constants.O_RDONLY | constants.O_DIRECTORY)];
  try {
    let place = root;
    let name = last;
    for (const next of names) {
      const folder = await step(opened.at(-1) as FileHandle, next).catch(
        (thrown: NodeJS.ErrnoException) => thrown,
      );
      if (folder instanceof Error) {
        // Gone meanwhile, with all that was in it.
        if (folder.code === "ENOENT") return undefined;
        // Closed to us, and not by its own mode: whoever closed it was not a command of ours.
        if (folder.code !== "ELOOP" && folder.code !== "ENOTDIR") throw folder;
        // A link or a file on the way to a protected name: that itself is what was planted.
        name = next;
        break;
      }
      opened.push(folder);
      place = join(place, next);
    }
    const at = `/proc/self/fd/${(opened.at(-1) as FileHandle).fd}`;
    const aside = `${name}.refused-${randomBytes(4).toString("hex")}`;
    if (!(await exists(join(at, name)))) return undefined;
    try {
      await rename(join(at, name), join(at, aside));
    } catch {
      // A command that took the folder's own rights away does not keep what it planted there.
      await (opened.at(-1) as FileHandle).chmod(0o700);
      await rename(join(at, name), join(at, aside));
    }
    return { path: join(place, name), movedTo: join(place, aside) };
  } finally {
    await Promise.all(opened.map((folder) => folder.close()));
  }
};

/** Makes a folder below a root listable again that a command closed; step by step, without following links. */
export const openBelow = async (root: string, path: string): Promise<void> => {
  const names = path.slice(root.length).split("/").filter(Boolean);
  const opened = [await open(root, constants.O_RDONLY | constants.O_DIRECTORY)];
  try {
    for (const name of names) opened.push(await step(opened.at(-1) as FileHandle, name));
  } finally {
    await Promise.all(opened.map((folder) => folder.close()));
  }
};

/** Protected names that a sandbox cannot cover because nothing is there yet. */
export interface MissingNames {
  /** Renames those that came into being; to be called when every process of the command is gone. */
  setAside(): Promise<readonly SetAside[]>;
}

/**
 * A mount or a rule needs something to lie on, and an empty placeholder would show up in `ls` and `git status`.
 * So a hidden folder is made first, and a file that must not be written is looked for after the run: what came
 * into being is renamed, never deleted, since it may be the user's own who wrote it meanwhile.
 */
export const watchMissing = async (profile: SandboxProfile): Promise<MissingNames> => {
  const missing: { readonly root: string; readonly path: string }[] = [];
  for (const path of new Set([...profile.hidden, ...profile.readOnly])) {
    const root = profile.writable.find((folder) => isInside(path, folder));
    if (root === undefined || path === root || (await exists(path))) continue;
    const isMade =
      profile.hidden.includes(path) &&
      (await exists(dirname(path))) &&
      (await mkdir(path, { mode: 0o700 }).then(
        () => true,
        () => false,
      ));
    if (!isMade && basename(path) !== "") missing.push({ root, path });
  }
  return {
    setAside: async () => {
      const moved = await Promise.all(missing.map(({ root, path }) => moveAside(root, path)));
      return moved.filter((one) => one !== undefined);
    },
  };
};
