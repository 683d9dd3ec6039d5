import { once } from "node:events";
import { chmodSync, renameSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";

/** Node hands on a listener by its descriptor, which it keeps in a private field. */
export const descriptorOf = (server: Server): number =>
  (Reflect.get(server, "_handle") as { readonly fd: number }).fd;

/** A Unix socket that listens and is to be inherited by another program, the only one to accept on it. */
export interface PassedListener {
  readonly path: string;
  readonly descriptor: number;
  /** Closes this end: to be called when the program has started. */
  release(): void;
  /** When the program has ended. */
  remove(): void;
}

export const listenForAnother = async (path: string): Promise<PassedListener> => {
  // Nobody knows the name yet, but whoever guesses it is not let in here.
  const server = createServer((socket) => socket.destroy());
  const made = `${path}.new`;
  server.listen(made);
  await once(server, "listening");
  chmodSync(made, 0o600);
  // Closing a listener, Node removes the name that it was made under: another one stays.
  renameSync(made, path);
  return {
    path,
    descriptor: descriptorOf(server),
    release: () => void server.close(),
    remove: () => rmSync(path, { force: true }),
  };
};

/** Accepts on a listener that was inherited under this number. */
export const acceptInherited = (
  descriptor: number,
  onConnection: (socket: Socket) => void,
  onFailed: (error: Error) => void,
): (() => void) => {
  const server = createServer(onConnection).on("error", onFailed).listen({ fd: descriptor });
  return () => void server.close();
};

export const connectTo = (path: string): Socket => connect(path);
