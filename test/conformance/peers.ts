import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolResultSchema,
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

/** A connected client, whatever its library and revision. */
export interface Peer {
  readonly revision: string | undefined;
  readonly serverName: string | undefined;
  tools(): Promise<readonly string[]>;
  /** The first text of the result. */
  call(tool: string, args?: Record<string, unknown>, onProgress?: (done: number) => void): Promise<string>;
  read(uri: string): Promise<string>;
  resources(): Promise<readonly string[]>;
  /** Asks to be told of changes of this resource. */
  watch(uri: string): Promise<void>;
  unwatch(uri: string): Promise<void>;
  /** What the server told on its own: `tools`, or the URI of a resource. */
  readonly news: readonly string[];
  close(): Promise<void>;
}

type Headers = Record<string, string>;

const ABOUT = { name: "llmc-conformance", version: "1.0.0" };
const CAPABILITIES = { elicitation: {} };
const ANSWER = { action: "accept", content: { username: "ada", email: "ada@example.org" } } as const;

/** How the user of a client answers a question; the messages are what they are shown. */
type AnswerQuestion = (message: string) => {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: Record<string, string>;
};

const firstText = (blocks: readonly unknown[]): string => {
  const [block] = blocks;
  if (typeof block !== "object" || block === null || !("text" in block)) throw new Error("no text came back");
  return String(block.text);
};

/** The 1.x library, which most clients are built on: revision 2025-11-25 with a session. */
export const connectVersion1 = async (
  url: URL,
  headers: Headers = {},
  answer: AnswerQuestion = () => ANSWER,
): Promise<Peer> => {
  const client = new Client1(ABOUT, { capabilities: CAPABILITIES });
  const news: string[] = [];
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void news.push("tools"));
  client.setNotificationHandler(
    ResourceUpdatedNotificationSchema,
    ({ params }) => void news.push(params.uri),
  );
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({ ...answer(params.message) }));
  const transport = new Http1(url, { requestInit: { headers } });
  // The library's own types do not agree under exactOptionalPropertyTypes.
  await client.connect(transport as Transport);
  return {
    revision: transport.protocolVersion,
    serverName: client.getServerVersion()?.name,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}, onProgress) => {
      const result = await client.callTool(
        { name, arguments: args },
        CallToolResultSchema,
        onProgress === undefined ? {} : { onprogress: ({ progress }) => onProgress(progress) },
      );
      return firstText(result.content as unknown[]);
    },
    read: async (uri) => firstText((await client.readResource({ uri })).contents),
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    watch: async (uri) => void (await client.subscribeResource({ uri })),
    unwatch: async (uri) => void (await client.unsubscribeResource({ uri })),
    news,
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  };
};

/** The 2.x library: `legacy` speaks 2025-11-25, `modern` speaks 2026-07-28 and listens on a stream of its own. */
export const connectVersion2 = async (
  url: URL,
  era: "legacy" | "modern",
  headers: Headers = {},
  answer: AnswerQuestion = () => ANSWER,
): Promise<Peer> => {
  const client = new Client2(ABOUT, {
    capabilities: CAPABILITIES,
    versionNegotiation: { mode: era === "modern" ? { pin: "2026-07-28" } : "legacy" },
  });
  const news: string[] = [];
  client.setNotificationHandler("notifications/tools/list_changed", () => void news.push("tools"));
  client.setNotificationHandler(
    "notifications/resources/updated",
    ({ params }) => void news.push(params.uri),
  );
  client.setRequestHandler("elicitation/create", ({ params }) => ({ ...answer(params.message) }));
  const transport = new Http2(url, { requestInit: { headers } });
  await client.connect(transport);
  const lists = era === "modern" ? await client.listen({ toolsListChanged: true }) : undefined;
  const watched = new Map<string, { close(): Promise<void> }>();
  return {
    revision: client.getNegotiatedProtocolVersion(),
    serverName: client.getServerVersion()?.name,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}, onProgress) => {
      const result = await client.callTool(
        { name, arguments: args },
        onProgress === undefined ? {} : { onprogress: ({ progress }) => onProgress(progress) },
      );
      return firstText(result.content);
    },
    read: async (uri) => firstText((await client.readResource({ uri })).contents),
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    watch: async (uri) => {
      if (era === "modern") watched.set(uri, await client.listen({ resourceSubscriptions: [uri] }));
      else await client.subscribeResource({ uri });
    },
    unwatch: async (uri) => {
      if (era === "modern") await watched.get(uri)?.close();
      else await client.unsubscribeResource({ uri });
    },
    news,
    close: async () => {
      await lists?.close();
      if (era === "legacy") await transport.terminateSession();
      await client.close();
    },
  };
};
