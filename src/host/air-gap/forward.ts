import { once } from "node:events";
import { createConnection, createServer, type Server } from "node:net";
import { join } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { type Backend, backendAddresses, socketName } from "./backend.ts";
import { joinSockets } from "./join-sockets.ts";

export interface Forwarder {
  close(): void;
}

const forwardTo = (path: string): Server =>
  createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    joinSockets(client, createConnection({ path, allowHalfOpen: true }));
  });

const refuseForward = ({ host, port }: Backend, cause: unknown): LlmcError =>
  new LlmcError("unavailable", `${host}:${port} cannot be opened in the air gap.`, {
    ...(port < 1024 && { hint: "Ports below 1024 need root there: have that server use a higher one." }),
    cause,
  });

/**
 * Inside the air gap: each backend answers at its own address on the loopback there, so that its clients need not know.
 * IPv6 is left out where the kernel has none.
 */
export const forwardBackends = async (folder: string, backends: readonly Backend[]): Promise<Forwarder> => {
  const servers: Server[] = [];
  // `localhost` and its address may both be configured.
  const taken = new Set<string>();
  const close = (): void => {
    for (const server of servers) server.close();
  };
  try {
    for (const [index, backend] of backends.entries()) {
      const addresses = backendAddresses(backend);
      for (const host of addresses) {
        if (taken.has(`${host} ${backend.port}`)) continue;
        const server = forwardTo(join(folder, socketName(index)));
        try {
          await once(server.listen({ host, port: backend.port }), "listening");
          taken.add(`${host} ${backend.port}`);
          // A server without clients does not keep the program from ending.
          servers.push(server.unref());
        } catch (thrown) {
          if (host !== "::1" || addresses.length === 1) throw refuseForward(backend, thrown);
        }
      }
    }
    return { close };
  } catch (thrown) {
    close();
    throw thrown;
  }
};
