import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { isRecord } from "../../base/is-record.ts";
import { createOwners } from "../os/process-owner.ts";

/** Longer names do not fit into the address of a socket. */
const MAX_SOCKET_PATH = 100;
/** Names the process that made the folder. */
const OWNER_FILE = "owner.json";
const NAME = /^llmc-(?:air-gap-)?\w{6}$/;
/** Those of killed servers are looked for when the client has its first answers. */
const SWEEP_MS = 3000;

const isPrivateFolder = (folder: string): boolean => {
  try {
    const stats = statSync(folder);
    return stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o077) === 0;
  } catch {
    return false;
  }
};

/** Whether the process that made the folder has ended, for certain. */
const isLeft = (folder: string, { isGone }: ReturnType<typeof createOwners>): boolean => {
  try {
    if (lstatSync(folder).isSymbolicLink() || !isPrivateFolder(folder)) return false;
    const owner: unknown = JSON.parse(readFileSync(join(folder, OWNER_FILE), "utf8"));
    const { pid, birth } = isRecord(owner) ? owner : {};
    return typeof pid === "number" && typeof birth === "string" && isGone({ pid, birth });
  } catch {
    return false;
  }
};

/** Removes the folders of this user's servers that were killed: nobody else does. */
export const sweepSocketFolders = (parent: string): void => {
  const owners = createOwners(process.pid);
  for (const name of readdirSync(parent)) {
    const folder = join(parent, name);
    if (NAME.test(name) && isLeft(folder, owners)) removeSocketFolder(folder);
  }
};

/** A new folder that only this user can enter. A later one removes it if this process is killed. */
export const makePrivateFolder = (parent: string, prefix: "llmc-" | "llmc-air-gap-"): string => {
  const folder = mkdtempSync(join(parent, prefix));
  chmodSync(folder, 0o700);
  writeFileSync(join(folder, OWNER_FILE), JSON.stringify(createOwners(process.pid).self()));
  setTimeout(() => {
    try {
      sweepSocketFolders(parent);
    } catch {
      // What cannot be listed or removed stays.
    }
  }, SWEEP_MS).unref();
  return folder;
};

/** One for sockets, in the user's own folder for such things where there is one. */
export const makeSocketFolder = (runtimeFolder: string | undefined): string => {
  const parent =
    runtimeFolder !== undefined &&
    isPrivateFolder(runtimeFolder) &&
    runtimeFolder.length + 30 < MAX_SOCKET_PATH
      ? runtimeFolder
      : "/tmp";
  return makePrivateFolder(parent, "llmc-");
};

export const removeSocketFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true });
