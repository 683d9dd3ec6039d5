import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { chmod, type FileHandle, lstat, mkdir, open, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isInside } from "../../../policy/paths.ts";
import { systemPath } from "../../reach/byte-path.ts";
import type { SandboxProfile, SetAside } from "../tiers/contract.ts";

/** A path that cannot be checked, because a parent folder is not accessible, counts as existing. */
const exists = async (path: string): Promise<boolean> =>
  lstat(systemPath(path)).then(
    () => true,
    (thrown: NodeJS.ErrnoException) => thrown.code !== "ENOENT" && thrown.code !== "ENOTDIR",
  );

const MAX_KEPT_NAME = 200;

/** Not in `constants`: a descriptor that names a place without opening it. */
const O_PATH = 0o10000000;

/** Gives us back our rights to a folder, never through a link: the descriptor is what is changed. */
const makeListable = async (path: string): Promise<void> => {
  const place = await open(systemPath(path), O_PATH | constants.O_NOFOLLOW | constants.O_DIRECTORY);
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
  return await open(systemPath(path), flags).catch(async (thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== "EACCES") throw thrown;
    await makeListable(path);
    return await open(systemPath(path), flags);
  });
};

/** Shortens a name so that a suffix fits into 255 bytes, and makes it valid UTF-8. */
const shortName = (name: string): string => {
  const text = name.toWellFormed();
  return Buffer.byteLength(text) <= MAX_KEPT_NAME ? text : text.slice(0, MAX_KEPT_NAME / 4);
};

/** Renames one name in an open folder; undefined where nothing is there. */
const renameIn = async (folder: FileHandle, place: string, name: string): Promise<SetAside | undefined> => {
  const at = `/proc/self/fd/${folder.fd}`;
  const aside = `${shortName(name)}.refused-${randomBytes(4).toString("hex")}`;
  if (!(await exists(join(at, name)))) return undefined;
  const [from, to] = [systemPath(join(at, name)), join(at, aside)];
  await rename(from, to).catch(async () => {
    // A command that took the folder's own rights away does not keep what it planted there.
    await folder.chmod(0o700);
    await rename(from, to);
  });
  return { path: join(place, name).toWellFormed(), movedTo: join(place, aside).toWellFormed() };
};

/** Renames what lies at a path below a root, step by step without following links. */
export const moveAside = async (root: string, path: string): Promise<SetAside | undefined> => {
  const names = path.slice(root.length).split("/").filter(Boolean);
  const last = names.pop();
  if (last === undefined) return undefined;
  let at = await open(root, constants.O_RDONLY | constants.O_DIRECTORY);
  let place = root;
  try {
    for (const next of names) {
      const folder = await step(at, next).catch((thrown: NodeJS.ErrnoException) => thrown);
      if (folder instanceof Error) {
        // Gone meanwhile, with all that was in it.
        if (folder.code === "ENOENT") return undefined;
        // Access was not removed through the folder's own mode, so it was not one of our commands that removed it.
        if (folder.code !== "ELOOP" && folder.code !== "ENOTDIR") throw folder;
        // A link or a file on the way to a protected name: that itself is what was planted.
        return await renameIn(at, place, next);
      }
      // One at a time: a path may have thousands of steps.
      await at.close();
      at = folder;
      place = join(place, next);
    }
    return await renameIn(at, place, last);
  } finally {
    await at.close();
  }
};

/** Makes a folder below a root listable again that a command closed; step by step, without following links. */
export const openBelow = async (root: string, path: string): Promise<void> => {
  let at = await open(root, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    for (const name of path.slice(root.length).split("/").filter(Boolean)) {
      const next = await step(at, name);
      await at.close();
      at = next;
    }
  } finally {
    await at.close();
  }
};

/** Makes a folder below a root, without following links: by its name, it might be made outside. */
const makeBelow = async (root: string, path: string): Promise<void> => {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  let at = await open(root, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    for (const name of dirname(path).slice(root.length).split("/").filter(Boolean)) {
      const next = await open(`/proc/self/fd/${at.fd}/${name}`, flags);
      await at.close();
      at = next;
    }
    await mkdir(`/proc/self/fd/${at.fd}/${basename(path)}`, { mode: 0o700 });
  } finally {
    await at.close();
  }
};

/** Protected names that a sandbox cannot cover because nothing is there yet. */
export interface MissingNames {
  /** Renames those that came into being; to be called when every process of the command is gone. */
  setAside(): Promise<readonly SetAside[]>;
}

/**
 * A mount or a rule needs an existing target, and an empty placeholder would show up in `ls` and `git status`. So a
 * hidden folder is created before the run. A file that must not be written is checked after the run: if it was created,
 * it is renamed, but never deleted, because the user may have written it.
 */
export const watchMissing = async (profile: SandboxProfile): Promise<MissingNames> => {
  const missing: { readonly root: string; readonly path: string }[] = [];
  for (const path of new Set([...profile.hidden, ...profile.readOnly])) {
    const root = profile.writable.find((folder) => isInside(path, folder));
    if (root === undefined || path === root || (await exists(path))) continue;
    const isMade =
      profile.hidden.includes(path) &&
      (await exists(dirname(path))) &&
      (await makeBelow(root, path).then(
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
