import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface ModelRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** What the server does with a request; anything that a real one might, and worse. */
export type Script = (response: ServerResponse, request: ModelRequest) => void | Promise<void>;

export interface ModelServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly requests: ModelRequest[];
  /** Connections, whether or not a request came on them. */
  connections(): number;
  /** Resolves when a client has closed its connection before it was answered. */
  readonly hungUp: Promise<void>;
}

const readAll = async (request: IncomingMessage): Promise<string> => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
};

/** A model provider over real HTTP, that answers by a script. */
export const startModelServer = async (script: Script, host = "127.0.0.1"): Promise<ModelServer> => {
  const requests: ModelRequest[] = [];
  let connections = 0;
  const gone = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    response.on("close", () => {
      if (!response.writableFinished) gone.resolve();
    });
    const text = await readAll(request);
    const body = text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
    const seen = { path: request.url ?? "", headers: request.headers, body, text };
    requests.push(seen);
    await script(response, seen);
  });
  server.on("connection", () => {
    connections++;
  });
  server.listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    requests,
    connections: () => connections,
    hungUp: gone.promise,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
};

/** For the time of one test. */
export const openModelServer = async (script: Script, host?: string): Promise<ModelServer> => {
  const server = await startModelServer(script, host);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
};

export const sendJson = (response: ServerResponse, body: unknown, status = 200, headers = {}): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
};

const OPENAI_USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

export const openaiAnswer = (content: string, finish = "stop", usage: unknown = OPENAI_USAGE) => ({
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: finish }],
  ...(usage === null ? {} : { usage }),
});

const chunk = (delta: object, finish: string | null, more: object = {}): string =>
  `data: ${JSON.stringify({
    id: "c1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  })}\n\n`;

/** The pieces of a streamed answer; `whole: false` leaves its end out. */
export const openaiChunks = (pieces: readonly string[], { whole = true } = {}): readonly string[] => [
  chunk({ role: "assistant", content: "" }, null),
  ...pieces.map((content) => chunk({ content }, null)),
  ...(whole
    ? [chunk({}, "stop"), chunk({}, null, { choices: [], usage: OPENAI_USAGE }), "data: [DONE]\n\n"]
    : []),
];

export const sendChunks = (response: ServerResponse, chunks: readonly string[]): void => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const one of chunks) response.write(one);
};

export const anthropicAnswer = (text: string) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5",
  content: [{ type: "text", text }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 1000, output_tokens: 100 },
});

export const googleAnswer = (text: string) => ({
  candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP", index: 0 }],
  usageMetadata: { promptTokenCount: 1000, candidatesTokenCount: 100, totalTokenCount: 1100 },
  modelVersion: "gemini-2.5-flash",
});

/** The messages of a chat completion. */
export const messagesOf = ({ body }: ModelRequest): readonly { role: string; content: string }[] =>
  (body["messages"] ?? []) as readonly { role: string; content: string }[];
