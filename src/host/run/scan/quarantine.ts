import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  rename,
  symlink,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { refusedName } from "../../../policy/paths.ts";
import { systemPath } from "../../reach/byte-path.ts";
import { O_PATH } from "../../reach/o-path.ts";
import type { Saved } from "../git/own-changes.ts";
import type { Quarantined } from "./quarantined.ts";

/** A path that cannot be checked, because a parent folder is not accessible, counts as existing. */
export const exists = async (path: string): Promise<boolean> =>
  lstat(systemPath(path)).then(
    () => true,
    (thrown: NodeJS.ErrnoException) => thrown.code !== "ENOENT" && thrown.code !== "ENOTDIR",
  );

const MAX_KEPT_NAME = 200;

/** Gives us back our rights to a folder, never through a link: the descriptor is what is changed. */
const makeListable = async (path: string): Promise<void> => {
  const handle = await open(systemPath(path), O_PATH | constants.O_NOFOLLOW | constants.O_DIRECTORY);
  try {
    await chmod(`/proc/self/fd/${handle.fd}`, 0o700);
  } finally {
    await handle.close();
  }
};

/**
 * Opens the folder one step below another without following a link: with a plain path, another command could
 * put a link there in the meantime and make us rename something outside.
 */
const enter = (folder: FileHandle, name: string): Promise<FileHandle> =>
  open(
    systemPath(`/proc/self/fd/${folder.fd}/${name}`),
    constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
  );

/** The same for a folder that a command may have closed, which becomes accessible again. */
const reopen = (folder: FileHandle, name: string): Promise<FileHandle> =>
  enter(folder, name).catch(async (thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== "EACCES") throw thrown;
    await makeListable(`/proc/self/fd/${folder.fd}/${name}`);
    return enter(folder, name);
  });

/** Shortens a name so that a suffix fits into 255 bytes, and makes it valid UTF-8. */
const shortName = (name: string): string => {
  const text = name.toWellFormed();
  return Buffer.byteLength(text) <= MAX_KEPT_NAME ? text : text.slice(0, MAX_KEPT_NAME / 4);
};

/**
 * Renames one name in an open folder; undefined where nothing is there. That is all: what is below the name belongs to a
 * program that may still run, so nobody reads it, compares it or removes it here.
 */
const renameIn = async (folder: FileHandle, path: string, name: string): Promise<Quarantined | undefined> => {
  const at = `/proc/self/fd/${folder.fd}`;
  const refused = refusedName(shortName(name), randomBytes(4).toString("hex"));
  if (!(await exists(join(at, name)))) return undefined;
  const [from, to] = [systemPath(join(at, name)), join(at, refused)];
  await rename(from, to).catch(async () => {
    // A command that took the folder's own rights away does not keep what it planted there.
    await folder.chmod(0o700);
    await rename(from, to);
  });
  return {
    kind: "renamed",
    path: join(path, name).toWellFormed(),
    movedTo: join(path, refused).toWellFormed(),
  };
};

const namesBelow = (root: string, path: string): readonly string[] =>
  path.slice(root.length).split("/").filter(Boolean);

/** A folder that could not be entered on the way down, in its open parent. */
interface Obstacle {
  readonly parent: FileHandle;
  /** Path of the parent. */
  readonly above: string;
  readonly name: string;
  readonly error: NodeJS.ErrnoException;
}

/**
 * The folder at a path, if no link leads there: the kernel says where what was opened lies. Undefined where that is
 * elsewhere, or where it could not be opened.
 */
const openWhole = async (path: string): Promise<FileHandle | undefined> => {
  const bytes = systemPath(path);
  const handle = await open(
    bytes,
    constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  ).catch(() => undefined);
  if (handle === undefined) return undefined;
  const real = await readlink(`/proc/self/fd/${handle.fd}`, { encoding: "buffer" }).catch(() => undefined);
  if (real?.equals(Buffer.from(bytes)) === true) return handle;
  await handle.close();
  return undefined;
};

/**
 * Opens the folders below a root without following links, and does the work in the last one. At once where that is
 * possible: a command may plant thousands of files a hundred folders deep. Otherwise one after the other, with one
 * descriptor at a time: a path may have thousands of steps.
 */
const descend = async <T>(
  root: string,
  names: readonly string[],
  openNext: typeof enter,
  work: (folder: FileHandle) => Promise<T>,
  onObstacle: (obstacle: Obstacle) => Promise<T> = ({ error }) => Promise.reject(error),
): Promise<T> => {
  const whole = names.length > 1 ? await openWhole(join(root, ...names)) : undefined;
  let at = whole ?? (await open(root, constants.O_RDONLY | constants.O_DIRECTORY));
  try {
    for (const [depth, name] of (whole === undefined ? names : []).entries()) {
      const next = await openNext(at, name).catch((thrown: NodeJS.ErrnoException) => thrown);
      if (next instanceof Error)
        return await onObstacle({
          parent: at,
          above: join(root, ...names.slice(0, depth)),
          name,
          error: next,
        });
      await at.close();
      at = next;
    }
    return await work(at);
  } finally {
    await at.close();
  }
};

/** Renames what is at a path below a root. */
export const quarantine = async (root: string, path: string): Promise<Quarantined | undefined> => {
  const names = namesBelow(root, path);
  const last = names.at(-1);
  if (last === undefined) return undefined;
  const folders = names.slice(0, -1);
  return descend(
    root,
    folders,
    reopen,
    (folder) => renameIn(folder, join(root, ...folders), last),
    async ({ parent, above, name, error }) => {
      // It has disappeared, with everything in it.
      if (error.code === "ENOENT") return undefined;
      // A command can only close a folder by its mode; any other error is not a command's doing.
      if (error.code !== "ELOOP" && error.code !== "ENOTDIR") throw error;
      // A link or a file on the way to a protected name: that itself is what was planted.
      return renameIn(parent, above, name);
    },
  );
};

/** The same for a folder that may be missing, which is made. */
const orMake =
  (openNext: typeof enter): typeof enter =>
  (folder, name) =>
    openNext(folder, name).catch(async (thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== "ENOENT") throw thrown;
      await mkdir(`/proc/self/fd/${folder.fd}/${name}`, { mode: 0o700 });
      return enter(folder, name);
    });

const makeAnew = async (at: string, saved: Saved): Promise<void> => {
  if (saved.kind === "link") await symlink(saved.target, at);
  else if (saved.kind === "folder") await mkdir(at, { mode: saved.mode });
  else await writeFile(at, saved.content, { flag: "wx", mode: saved.mode });
};

/** Makes something anew below a root, where it was. */
export const restoreBelow = (root: string, path: string, saved: Saved): Promise<void> =>
  descend(root, namesBelow(root, dirname(path)), enter, (folder) =>
    makeAnew(`/proc/self/fd/${folder.fd}/${basename(path)}`, saved),
  );

/** The same whatever a command did to the folders on the way. */
export const forceBelow = (root: string, path: string, saved: Saved): Promise<void> =>
  descend(root, namesBelow(root, dirname(path)), orMake(reopen), async (folder) => {
    const at = `/proc/self/fd/${folder.fd}/${basename(path)}`;
    await makeAnew(at, saved).catch(async (thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== "EACCES") throw thrown;
      await folder.chmod(0o700);
      await makeAnew(at, saved);
    });
  });

/** Levels of closed folders that are opened at once; each takes a descriptor. */
const MAX_OPENED_LEVELS = 100;

/** Opens what is closed in a folder, and in what was closed. */
const openClosed = async (folder: FileHandle, levels: number): Promise<void> => {
  const entries = await readdir(`/proc/self/fd/${folder.fd}`, { withFileTypes: true });
  for (const entry of entries.filter((one) => one.isDirectory())) {
    const isOpen = await enter(folder, entry.name).then(
      async (inner) => inner.close().then(() => true),
      () => false,
    );
    if (isOpen || levels === 0) continue;
    const inner = await reopen(folder, entry.name);
    await openClosed(inner, levels - 1).finally(() => inner.close());
  }
};

/** Makes a folder below a root accessible again that a command has closed, and what it has closed inside. */
export const openBelow = (root: string, path: string): Promise<void> =>
  descend(root, namesBelow(root, path), reopen, (folder) => openClosed(folder, MAX_OPENED_LEVELS));

/** Creates a folder below a root, and those above it; by its path, it might be created outside. */
export const makeBelow = (root: string, path: string): Promise<void> =>
  descend(root, namesBelow(root, dirname(path)), orMake(enter), (folder) =>
    mkdir(`/proc/self/fd/${folder.fd}/${basename(path)}`, { mode: 0o700 }),
  );
