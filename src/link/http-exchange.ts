import type { ClientRequest } from "node:http";
import type { Socket } from "node:net";
import { createConnectionAgent } from "./connection-agent.ts";
import { HELLO_PATH, SCHEMA_HEADER, schemaText } from "./schema-version.ts";

interface ExchangeParts {
  /** A connection to the core that nobody uses yet. */
  readonly connect: (gone?: AbortSignal) => Promise<Socket>;
  readonly maxConnections: number;
}

/** The core closes connections that are not used for this long. */
export const CORE_KEEP_ALIVE_MS = 60_000;
/** More than that are needed together only for a moment. */
const MAX_IDLE = 64;

interface Head {
  readonly method: string;
  readonly path: string;
  /** Names and values in turn, so that one may come twice. */
  readonly headers: readonly string[];
}

/** The front's end of the link over HTTP: requests to the core, on connections that they share. */
export const createHttpExchange = ({ connect, maxConnections }: ExchangeParts) => {
  const { request: ask, close } = createConnectionAgent({
    connect,
    maxSockets: maxConnections,
    maxFreeSockets: MAX_IDLE,
  });
  return {
    /** Throws where the head is one that Node does not write. `gone` fires when the client has left. */
    open: ({ method, path, headers }: Head, gone: AbortSignal): ClientRequest =>
      ask({ method, path, headers: [...headers], setHost: false }, gone),
    /** Asks the core which version of the link it speaks; false if it cannot be spoken to. */
    greet: (): Promise<boolean> =>
      new Promise((resolve, reject) => {
        const headers = ["host", "core", SCHEMA_HEADER, schemaText()];
        const request = ask({ path: HELLO_PATH, headers, setHost: false });
        request.once("error", reject);
        request.once("response", (response) => {
          response.resume();
          resolve(response.statusCode === 204);
        });
        request.end();
      }),
    /** A connection for something else than requests. */
    connect,
    close,
  };
};

export type HttpExchange = ReturnType<typeof createHttpExchange>;
