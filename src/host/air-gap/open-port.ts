import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { renameSync } from "node:fs";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { explainListen, type ListenOptions } from "../net/listen.ts";
import { ACCEPTED, peerHeader } from "./accept-passed-on.ts";
import { joinSockets } from "./join-sockets.ts";

export interface Listen extends ListenOptions {
  readonly maxConnections: number;
}

/** The server inside ends an idle connection for each one beyond its limit, and has to learn of that one first. */
const ARRIVING = 64;
/** A server that is not there yet, or too busy to take more, is waited for by the kernel's queue. */
const BACKLOG = 511;

/** Passes a connection on: first the address of its client, then, once it is accepted, all bytes unchanged. */
const passOn = (client: Socket, path: string, secret: string): void => {
  const inside = createConnection({ path, allowHalfOpen: true });
  const end = (): void => {
    client.destroy();
    inside.destroy();
  };
  client.on("error", end);
  inside.on("error", end);
  inside.on("close", end);
  const { remoteAddress, remotePort } = client;
  if (remoteAddress === undefined || remotePort === undefined) {
    end();
    return;
  }
  inside.write(peerHeader(secret, { address: remoteAddress, port: remotePort }));
  inside.once("readable", () => {
    const accepted = inside.read(ACCEPTED.length) as Buffer | null;
    inside.off("close", end);
    if (accepted === null || client.destroyed) end();
    else joinSockets(client, inside);
  });
};

/**
 * Outside of the air gap: the port in the machine's network. The sockets of its connections stay out here, because
 * whoever holds one could connect it to somewhere else; a Unix socket, whose listener is inherited, carries their bytes.
 */
export const openPort = async (options: Listen, folder: string) => {
  const secret = randomBytes(32).toString("base64url");
  const path = join(folder, "http.sock");
  const inner = createServer();
  await once(inner.listen({ path: `${path}.new`, backlog: BACKLOG }), "listening");
  // Node removes the name that it made when it closes its descriptor; the socket is still needed then.
  renameSync(`${path}.new`, path);
  const outer: Server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) =>
    passOn(client, path, secret),
  );
  outer.maxConnections = options.maxConnections + ARRIVING;
  outer.listen(options.port, options.host);
  await once(outer, "listening").catch((thrown: unknown) => {
    inner.close();
    throw explainListen(thrown as NodeJS.ErrnoException, options);
  });
  const address = outer.address();
  return {
    secret,
    port: typeof address === "object" && address !== null ? address.port : options.port,
    descriptor: (Reflect.get(inner, "_handle") as { fd: number }).fd,
    /** Closes our own descriptor of the listener inside. */
    closeInner: (): void => void inner.close(),
    close: (): void => {
      outer.close();
    },
  };
};
