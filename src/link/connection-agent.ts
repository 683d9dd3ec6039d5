import { Agent } from "node:http";
import type { Socket } from "node:net";
import { LinkBroken } from "./link-broken.ts";

/** As long as connections are kept that are not used (REQ-I7), less a little: the core must not close first. */
const KEEP_ALIVE_MS = 55_000;

interface AgentParts {
  /** A connection to the core that nobody uses yet. */
  readonly connect: () => Promise<Socket>;
  readonly maxSockets: number;
  readonly maxFreeSockets: number;
}

/** The front's requests to the core, on connections that the core has opened. */
export const createConnectionAgent = ({ connect, ...bounds }: AgentParts) => {
  let isClosed = false;
  const agent = Object.assign(
    new Agent({ keepAlive: true, scheduling: "lifo", timeout: KEEP_ALIVE_MS, ...bounds }),
    {
      createConnection: (_: unknown, done: (error: Error | null, socket?: Socket) => void): undefined => {
        connect().then((socket) => {
          if (!isClosed) return done(null, socket);
          socket.destroy();
          done(new LinkBroken("closed"));
        }, done);
      },
    },
  );
  return {
    agent,
    /** Also of a connection that comes only after this. */
    close: (): void => {
      isClosed = true;
      agent.destroy();
    },
  };
};
