import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { isRecord } from "../base/is-record.ts";
import { SCHEMA_HEADER, schemaText, TOKEN_HEADER } from "./schema-version.ts";
import { createSoftLimit } from "./soft-limit.ts";
import { createJsonLines, fromWireError, type WireError } from "./wire.ts";

export interface LinkAddress {
  readonly socketPath: string;
  readonly token: string;
  /** How many idle connections are kept. */
  readonly poolSize: number;
  /** Requests at once; further ones wait here. */
  readonly maxRequests: number;
}

/** The connection broke, or there was none: the same request may be sent again. */
export class LinkBroken extends Error {
  override readonly name = "LinkBroken";
}

/** The design documents' keep-alive, less a little: the core must not close first. */
const KEEP_ALIVE_MS = 55_000;
const MAX_ERROR_CHARS = 65_536;

const textOf = async (response: IncomingMessage): Promise<string> => {
  let text = "";
  for await (const part of response.setEncoding("utf8")) {
    text += part as string;
    if (text.length > MAX_ERROR_CHARS) break;
  }
  return text;
};

const failureOf = (text: string): Error => {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (isRecord(error)) return fromWireError(error as unknown as WireError);
  } catch {
    // Not an answer of the core: as good as none.
  }
  return new LinkBroken("not an answer of the core");
};

/** The front's end of the link: requests over a Unix socket, each answered with lines of JSON. */
export const createLinkClient = ({ socketPath, token, poolSize, maxRequests }: LinkAddress) => {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: maxRequests,
    maxFreeSockets: poolSize,
    timeout: KEEP_ALIVE_MS,
    scheduling: "lifo",
  });
  /** For what must not wait behind requests: cancelling them, events, logs. */
  const aside = new Agent({ keepAlive: true, maxFreeSockets: 1, timeout: KEEP_ALIVE_MS });
  const headers = { [TOKEN_HEADER]: token, [SCHEMA_HEADER]: schemaText() };

  const open = (via: Agent, method: string, path: string, body?: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const request = httpRequest({
        socketPath,
        method,
        path,
        agent: via,
        headers:
          body === undefined
            ? headers
            : { ...headers, "content-type": "application/json", "content-length": Buffer.byteLength(body) },
      });
      // The agent's timeout is for idle connections; a request may take as long as its tool does.
      request.setTimeout(0);
      request.once("error", (error) => reject(new LinkBroken(error.message)));
      request.once("response", resolve);
      request.end(body);
    });

  const follow = async <T>(response: IncomingMessage, onLine: (line: T) => void): Promise<void> => {
    if (response.statusCode !== 200) throw failureOf(await textOf(response));
    const read = createJsonLines<T>(onLine);
    try {
      for await (const text of response.setEncoding("utf8")) read(text as string);
    } catch (error) {
      throw new LinkBroken(error instanceof Error ? error.message : "unknown");
    }
  };

  const turns = createSoftLimit(poolSize);
  const ask = async <T>(path: string, body: string, onLine: (line: T) => void): Promise<void> => {
    await turns.enter();
    try {
      await follow(await open(agent, "POST", path, body), onLine);
    } finally {
      turns.leave();
    }
  };

  return {
    /** Sends a request and passes on the lines of its answer until it ends. */
    ask,
    /** Passes on the lines of a stream until it ends. */
    listen: async <T>(path: string, onLine: (line: T) => void): Promise<void> =>
      follow(await open(aside, "GET", path), onLine),
    /** Sends something that has no answer. */
    post: async (path: string, body: string): Promise<void> => {
      const response = await open(aside, "POST", path, body);
      const text = await textOf(response);
      if ((response.statusCode ?? 500) >= 300) throw failureOf(text);
    },
    close: (): void => {
      agent.destroy();
      aside.destroy();
    },
  };
};

export type LinkClient = ReturnType<typeof createLinkClient>;
