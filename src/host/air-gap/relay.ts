import { once } from "node:events";
import { realpathSync } from "node:fs";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makePrivateFolder, removeSocketFolder } from "../net/socket-folder.ts";
import { type Backend, backendAddresses, socketName } from "./backend.ts";
import { joinSockets } from "./join-sockets.ts";

export interface Relay {
  /** Private; it holds one Unix socket for each backend, in their order. */
  readonly folder: string;
  close(): void;
}

/** The first address that answers: a server may listen on one of the two that `localhost` means. */
const connectFirst = async (addresses: readonly string[], port: number): Promise<Socket> => {
  let refusal: unknown;
  for (const host of addresses) {
    const socket = createConnection({ host, port, allowHalfOpen: true });
    try {
      await once(socket, "connect");
      return socket;
    } catch (thrown) {
      refusal = thrown;
    }
  }
  throw refusal;
};

const relayTo = (addresses: readonly string[], port: number): Server =>
  createServer({ allowHalfOpen: true, pauseOnConnect: true }, (inside) => {
    // The client may disconnect before the backend answers.
    inside.on("error", () => inside.destroy());
    connectFirst(addresses, port).then(
      (outside) => joinSockets(inside, outside),
      () => inside.destroy(),
    );
  });

/**
 * Outside of the air gap: connects each client of a backend's Unix socket to that backend's address and port, and to
 * nothing else. Bytes are passed on unchanged.
 */
export const openRelay = async (backends: readonly Backend[]): Promise<Relay> => {
  // All are judged before anything is opened.
  const targets = backends.map((backend) => ({ addresses: backendAddresses(backend), port: backend.port }));
  const folder = makePrivateFolder(realpathSync.native(tmpdir()), "llmc-air-gap-");
  const servers = targets.map(({ addresses, port }) => relayTo(addresses, port));
  const close = (): void => {
    for (const server of servers) server.close();
    removeSocketFolder(folder);
  };
  try {
    await Promise.all(
      servers.map((server, index) => once(server.listen(join(folder, socketName(index))), "listening")),
    );
    return { folder, close };
  } catch (thrown) {
    close();
    throw thrown;
  }
};
