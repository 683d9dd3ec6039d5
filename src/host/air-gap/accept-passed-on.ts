import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { isIP, type Server, type Socket } from "node:net";
import type { OpenedPort } from "./opened-outside.ts";

/** Who connected outside. */
export interface PeerAddress {
  readonly address: string;
  readonly port: number;
}

/** Longer than any: a secret of 43 characters, an IPv6 address with a zone, a port. */
const MAX_HEADER_BYTES = 160;
/** For the header, which is written as the connection is opened. */
const HEADER_MS = 10_000;
/** What the program inside answers once it has read the header; the client's bytes are sent after that. */
export const ACCEPTED = "+";

/** The first line of a connection that is passed on. */
export const peerHeader = (secret: string, { address, port }: PeerAddress): string =>
  `${secret} ${address} ${port}\n`;

const isSecret = (given: string, secret: string): boolean =>
  given.length === secret.length && timingSafeEqual(Buffer.from(given), Buffer.from(secret));

const parseHeader = (line: string, secret: string): PeerAddress | undefined => {
  const [given = "", address = "", port = ""] = line.split(" ");
  if (!isSecret(given, secret) || isIP(address) === 0 || !/^\d{1,5}$/.test(port)) return undefined;
  return { address, port: Number(port) };
};

/** Gives a Unix socket the peer of the connection that it carries; TLS sockets above it ask it, too. */
const setPeer = (socket: Socket, { address, port }: PeerAddress): void => {
  const handle = Reflect.get(socket, "_handle") as object | null;
  if (handle === null) return;
  Reflect.set(handle, "getpeername", (out: Record<string, unknown>): number => {
    Object.assign(out, { address, port, family: isIP(address) === 6 ? "IPv6" : "IPv4" });
    return 0;
  });
};

const readHeader = (socket: Socket, secret: string, admit: () => void): void => {
  let header = "";
  const timer = setTimeout(() => socket.destroy(), HEADER_MS);
  const fail = (): void => void socket.destroy();
  const stop = (): void => {
    clearTimeout(timer);
    socket.off("readable", read);
    socket.off("close", stop);
  };
  const read = (): void => {
    const part = socket.read() as Buffer | null;
    if (part === null) return;
    header += part.toString("latin1");
    const peer = header.endsWith("\n") ? parseHeader(header.slice(0, -1), secret) : undefined;
    if (peer === undefined) {
      if (header.length > MAX_HEADER_BYTES || header.includes("\n")) fail();
      return;
    }
    stop();
    socket.off("error", fail);
    setPeer(socket, peer);
    socket.write(ACCEPTED);
    admit();
  };
  socket.on("error", fail);
  socket.on("close", stop);
  socket.on("readable", read);
};

/**
 * Makes a server take connections that the program outside passes on: whatever the server does with a new connection
 * happens after the header was read and removed. Resolves to the port outside.
 */
export const acceptPassedOn = async (
  server: Server,
  { descriptor, port, secret }: OpenedPort,
): Promise<number> => {
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    readHeader(socket, secret, () => {
      for (const listener of listeners) Reflect.apply(listener, server, [socket]);
    });
  });
  await once(server.listen({ fd: descriptor }), "listening");
  return port;
};
