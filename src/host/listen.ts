import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { LlmcError } from "../base/error.ts";

interface ListenOptions {
  readonly host: string;
  readonly port: number;
}

/** Bounds a client that sends its headers or body drop by drop, in milliseconds. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;

export const createHttpServer = (handler: RequestListener, maxHeaderBytes: number): Server =>
  createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: 5000,
    },
    handler,
  );

const explain = (error: NodeJS.ErrnoException, { host, port }: ListenOptions): LlmcError => {
  if (error.code === "EADDRINUSE") {
    return new LlmcError("unavailable", `Port ${port} on ${host} is taken.`, {
      hint: "Choose another with --port, or 0 for any free one.",
      cause: error,
    });
  }
  if (error.code === "EACCES")
    return new LlmcError("permission_denied", `Port ${port} may not be opened by this user.`, {
      hint: "Use a port above 1023.",
      cause: error,
    });
  return new LlmcError("unavailable", `Cannot listen on ${host}:${port} (${error.code}).`, { cause: error });
};

/** Opens the listener; resolves with the port that was really taken. */
export const listen = (server: Server, options: ListenOptions): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", (error) => reject(explain(error, options)));
    server.listen(options.port, options.host, () => resolve((server.address() as AddressInfo).port));
  });

/** Stops taking connections, lets requests under way finish, and ends idle connections; at the limit, all of them. */
export const closeServer = (server: Server, graceMs: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), graceMs);
    // A connection becomes idle when its last answer or stream ends, which may be after this.
    const sweep = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
      clearTimeout(timer);
      clearInterval(sweep);
      resolve();
    });
    server.closeIdleConnections();
  });
