import { chmodSync, rmSync } from "node:fs";
import type { Server, Socket } from "node:net";
import koffi from "koffi";
import { readProcStat } from "../os/proc-stat.ts";

/** What the kernel says about the process at the other end of a Unix socket. */
export interface Peer {
  readonly pid: number;
  readonly uid: number;
}

const SOL_SOCKET = 1;
const SO_PEERCRED = 17;

type GetSockOpt = (fd: number, level: number, option: number, value: Buffer, length: Buffer) => number;
let getsockopt: GetSockOpt | undefined;

/** Undefined where the kernel does not say it. */
export const peerOf = (socket: Socket): Peer | undefined => {
  const fd: unknown = Reflect.get(Reflect.get(socket, "_handle") ?? {}, "fd");
  if (process.platform !== "linux" || typeof fd !== "number" || fd < 0) return undefined;
  getsockopt ??= koffi
    .load(null)
    .func("getsockopt", "int", ["int", "int", "int", "void *", "void *"]) as unknown as GetSockOpt;
  const credentials = Buffer.alloc(12);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(credentials.length);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, credentials, length) !== 0) return undefined;
  return { pid: credentials.readInt32LE(0), uid: credentials.readUInt32LE(4) };
};

const MAX_ANCESTORS = 8;

/** Whether a process is that one, or was started by it: a sandbox puts a process of its own in between. */
const descendsFrom = (pid: number, ancestor: number): boolean => {
  let current: number | undefined = pid;
  for (let step = 0; step < MAX_ANCESTORS && current !== undefined && current > 1; step++) {
    if (current === ancestor) return true;
    current = readProcStat(current)?.parent;
  }
  return false;
};

export const ownUserId = (): number => process.getuid?.() ?? 0;

/**
 * Whether a socket is connected to a front of ours. The kernel names who listened last: the process that made the
 * listener, or the front, once it listens.
 */
export const isFrontOf = (socket: Socket, front: number, madeBy: "us" | "our parent"): boolean => {
  const peer = peerOf(socket);
  if (peer === undefined) return process.platform !== "linux";
  const maker = madeBy === "us" ? process.pid : process.ppid;
  return peer.uid === ownUserId() && (peer.pid === maker || descendsFrom(peer.pid, front));
};

/** Opens a Unix socket for this user alone, in place of one that an ended process left. */
export const listenPrivately = (server: Server, path: string): Promise<void> => {
  rmSync(path, { force: true });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      chmodSync(path, 0o600);
      resolve();
    });
  });
};
