import { once } from "node:events";
import { createConnection, createServer, type Server } from "node:net";
import { join } from "node:path";
import { type Backend, backendAddresses, socketName } from "./backend.ts";
import { joinSockets } from "./join-sockets.ts";

export interface Forwarder {
  close(): void;
}

const forwardTo = (path: string): Server =>
  createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    joinSockets(client, createConnection({ path, allowHalfOpen: true }));
  });

/**
 * Inside the air gap: each backend answers at its own address on the loopback there, so that its clients need not know.
 * IPv6 is left out where the kernel has none.
 */
export const forwardBackends = async (folder: string, backends: readonly Backend[]): Promise<Forwarder> => {
  const servers: Server[] = [];
  const close = (): void => {
    for (const server of servers) server.close();
  };
  try {
    for (const [index, backend] of backends.entries()) {
      const addresses = backendAddresses(backend);
      for (const host of addresses) {
        const server = forwardTo(join(folder, socketName(index)));
        try {
          await once(server.listen({ host, port: backend.port }), "listening");
          servers.push(server);
        } catch (thrown) {
          if (host !== "::1" || addresses.length === 1) throw thrown;
        }
      }
    }
    return { close };
  } catch (thrown) {
    close();
    throw thrown;
  }
};
