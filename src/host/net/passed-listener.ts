import { once } from "node:events";
import { closeSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import koffi from "koffi";
import { descriptorOf } from "./link-sockets.ts";
import { explainListen, type ListenOptions } from "./listen.ts";

/** A port that is held here and accepted on elsewhere, by programs that inherit it one after the other. */
export interface HeldPort {
  readonly descriptor: number;
  /** The one that was really taken. */
  readonly port: number;
  /** Clients that nobody has accepted are let go when the programs that inherited it are gone, too. */
  close(): void;
}

/** Connections that wait while no program accepts any, the one that did having ended. */
const BACKLOG = 511;
/** F_DUPFD_CLOEXEC: what is started without being given the port must not have it. */
const DUPLICATE = process.platform === "darwin" ? 67 : 1030;
/** The standard streams come before it. */
const LOWEST = 3;

type Fcntl = (descriptor: number, command: number, type: "int", value: number) => number;

/**
 * Opens a port without accepting on it. Node accepts as soon as it listens, but not before its event loop turns: the
 * listener is duplicated and closed within the turn in which it was opened, and the duplicate goes on listening.
 */
export const holdPort = async (options: ListenOptions): Promise<HeldPort> => {
  // Loaded before anything is opened: this takes longer than a turn.
  const fcntl = koffi.load(null).func("int fcntl(int, int, ...)") as unknown as Fcntl;
  const server = createServer((socket) => socket.destroy());
  server.listen({ ...options, backlog: BACKLOG });
  await once(server, "listening").catch((thrown: unknown) => {
    throw explainListen(thrown as NodeJS.ErrnoException, options);
  });
  const { port } = server.address() as AddressInfo;
  const descriptor = fcntl(descriptorOf(server), DUPLICATE, "int", LOWEST);
  server.close();
  if (descriptor < 0) throw new Error(`the listener of port ${port} could not be duplicated`);
  let isOpen = true;
  const close = (): void => {
    if (isOpen) closeSync(descriptor);
    isOpen = false;
  };
  return { descriptor, port, close };
};
