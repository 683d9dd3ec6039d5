import type { Backend } from "./backend.ts";

/** The variable by which the program outside tells the one inside what was opened for it. */
export const AIR_GAP_VARIABLE = "LLMC_AIR_GAP";

/** In the folder of the relay: the socket for other programs of the user. */
export const INVOKE_SOCKET = "invoke.sock";

/** The HTTP port that the program outside holds: what comes there is passed on over a Unix socket. */
export interface OpenedPort {
  /** Of the listening Unix socket. */
  readonly descriptor: number;
  /** The port that was really taken. */
  readonly port: number;
  /** By which the program inside knows connections of the one outside, and believes the addresses that it names. */
  readonly secret: string;
}

export interface OpenedOutside {
  /** Of the relay's sockets. */
  readonly folder: string;
  readonly backends: readonly Backend[];
  readonly http?: OpenedPort;
  /** Why the socket of `mcp.server.invoke_socket` could not be given its name. */
  readonly invokeRefusal?: string;
}
