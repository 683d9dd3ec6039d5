import { Agent, type ClientRequest, request as httpRequest, type RequestOptions } from "node:http";
import type { Socket } from "node:net";
import { LinkBroken } from "./link-broken.ts";

/** As long as connections are kept that are not used (REQ-I7), less a little: the core must not close first. */
const KEEP_ALIVE_MS = 55_000;

interface AgentParts {
  /** A connection to the core that nobody uses yet; `gone` fires when nobody waits for it any more. */
  readonly connect: (gone?: AbortSignal) => Promise<Socket>;
  readonly maxSockets: number;
  readonly maxFreeSockets: number;
}

/** The front's requests to the core, on connections that the core has opened. */
export const createConnectionAgent = ({ connect, ...bounds }: AgentParts) => {
  let isClosed = false;
  /** Of the request that is being opened: Node asks for its connection at once, and does not say whose it is. */
  let opening: AbortSignal | undefined;
  const agent = Object.assign(
    new Agent({ keepAlive: true, scheduling: "lifo", timeout: KEEP_ALIVE_MS, ...bounds }),
    {
      createConnection: (_: unknown, done: (error: Error | null, socket?: Socket) => void): undefined => {
        connect(opening).then((socket) => {
          if (!isClosed) return done(null, socket);
          socket.destroy();
          done(new LinkBroken("closed"));
        }, done);
      },
    },
  );
  return {
    /** A request to the core; `gone` fires when nobody waits for its answer any more. */
    request: (options: RequestOptions, gone?: AbortSignal): ClientRequest => {
      opening = gone;
      try {
        const request = httpRequest({ ...options, agent });
        // The agent's timeout is for idle connections; a request may take as long as its tool does.
        request.setTimeout(0);
        return request;
      } finally {
        opening = undefined;
      }
    },
    /** Also of a connection that comes only after this. */
    close: (): void => {
      isClosed = true;
      agent.destroy();
    },
  };
};
