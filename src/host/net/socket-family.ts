import { fstatSync } from "node:fs";
import koffi from "koffi";

const SOL_SOCKET = 1;
const SO_DOMAIN = 39;
const AF_UNIX = 1;

/**
 * Whether a descriptor is a socket of a network, bound or not. Such a socket belongs to the network namespace in which it
 * was made, wherever it is passed to, and can be connected anew. One whose family the kernel does not tell counts as one.
 */
export const isInetSocket = (descriptor: number): boolean => {
  if (!fstatSync(descriptor).isSocket()) return false;
  const getsockopt = koffi
    .load(null)
    .func("getsockopt", "int", ["int", "int", "int", "void *", "void *"]) as unknown as (
    ...args: [number, number, number, Buffer, Buffer]
  ) => number;
  const family = Buffer.alloc(4);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(family.length);
  return (
    getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, family, length) !== 0 || family.readInt32LE(0) !== AF_UNIX
  );
};
