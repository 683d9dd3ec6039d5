import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { LlmcError } from "../base/error.ts";
import { isRecord } from "../base/is-record.ts";
import { createConnectionAgent } from "./connection-agent.ts";
import { failureOf, LinkBroken, textOf } from "./link-broken.ts";
import { agreeOn, HELLO_PATH, hasMinor, SCHEMA_HEADER, schemaText, TOKEN_HEADER } from "./schema-version.ts";
import { createStreamClient } from "./stream-client.ts";
import { type CoreGreeting, createJsonLines } from "./wire.ts";

interface LinkParts {
  /** A connection to the core that nobody uses yet. */
  readonly connect: () => Promise<Socket>;
  readonly token: string;
}

/** For events, for cancelling and for logs. */
export const CONTROL_CONNECTIONS = 3;

const misfit = (theirs: string): LlmcError =>
  new LlmcError(
    "unavailable",
    `The server's core speaks version ${theirs.slice(0, 20)} of the link, its front ${schemaText()}.`,
    { hint: "Start the server again." },
  );

const readGreeting = (text: string): CoreGreeting => {
  const answer: unknown = JSON.parse(text);
  const { schema, connections } = isRecord(answer) ? answer : {};
  const agreed = typeof schema === "string" ? agreeOn(schema) : undefined;
  if (agreed === undefined || typeof connections !== "number") throw misfit(String(schema));
  return { schema: agreed, connections };
};

/** The front's end of the link: requests over a Unix socket, each answered with lines of JSON. */
export const createLinkClient = ({ connect, token }: LinkParts) => {
  const closing = new AbortController();
  let greeting: CoreGreeting = { schema: schemaText(), connections: 1 };
  /** For what must not wait behind requests: cancelling them, events, logs. */
  const control = createConnectionAgent({ connect, maxSockets: CONTROL_CONNECTIONS, maxFreeSockets: 1 });
  const headers = (): Readonly<Record<string, string>> => ({
    [TOKEN_HEADER]: token,
    [SCHEMA_HEADER]: greeting.schema,
  });
  const stream = createStreamClient({ connect, headers, poolSize: () => greeting.connections });

  const open = (method: string, path: string, body?: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const { signal } = closing;
      if (signal.aborted) throw new LinkBroken("closed");
      const request = control.request({
        method,
        path,
        headers:
          body === undefined
            ? headers()
            : { ...headers(), "content-type": "application/json", "content-length": Buffer.byteLength(body) },
      });
      // A request that waits for a connection does not notice that its agent is gone.
      const abandon = (): void => {
        request.destroy();
        reject(new LinkBroken("closed"));
      };
      signal.addEventListener("abort", abandon);
      request.once("close", () => signal.removeEventListener("abort", abandon));
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

  return {
    /** Sends a request and passes on the lines of its answer until it ends. */
    ask: stream.ask,
    /** Whether the core that was greeted last understands what came with a minor version. */
    speaks: (minor: number): boolean => hasMinor(greeting.schema, minor),
    /** Agrees with a core on how to speak to it; to be called before anything else is sent to it. */
    greet: async (): Promise<void> => {
      greeting = { ...greeting, schema: schemaText() };
      const response = await open("GET", HELLO_PATH);
      const text = await textOf(response);
      if (response.statusCode !== 200) throw failureOf(text);
      greeting = readGreeting(text);
    },
    /** Passes on the lines of a stream until it ends. */
    listen: async <T>(path: string, onLine: (line: T) => void): Promise<void> =>
      follow(await open("GET", path), onLine),
    /** Sends something that has no answer. */
    post: async (path: string, body: string): Promise<void> => {
      const response = await open("POST", path, body);
      const text = await textOf(response);
      if ((response.statusCode ?? 500) >= 300) throw failureOf(text);
    },
    close: (): void => {
      closing.abort();
      stream.close();
      control.close();
    },
  };
};

export type LinkClient = ReturnType<typeof createLinkClient>;
