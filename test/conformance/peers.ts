import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolResultSchema,
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { cleanEnv, launcher } from "../workspace.ts";

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
const ANSWER = { action: "accept", content: { username: "ada", email: "ada@example.org" } } as const;

interface Answer {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: Record<string, string>;
}

/** How the user of a client answers a question; the messages are what they are shown. */
export type AnswerQuestion = (message: string) => Answer | Promise<Answer>;

/** Where the server is: its address, or the arguments with which the client starts it. */
export type Where = URL | readonly string[];

const programOf = (args: readonly string[]) => ({
  command: launcher,
  args: ["serve", "--stdio", ...args],
  env: cleanEnv(),
  cwd: "/",
  stderr: "ignore" as const,
});

const capabilitiesOf = (answer: AnswerQuestion | "unable") =>
  answer === "unable" ? {} : { elicitation: {} };

const firstText = (blocks: readonly unknown[]): string => {
  const [block] = blocks;
  if (typeof block !== "object" || block === null || !("text" in block)) throw new Error("no text came back");
  return String(block.text);
};

/** The 1.x library, which most clients are built on: revision 2025-11-25 with a session. */
export const connectVersion1 = async (
  where: Where,
  headers: Headers = {},
  answer: AnswerQuestion | "unable" = () => ANSWER,
): Promise<Peer> => {
  const client = new Client1(ABOUT, { capabilities: capabilitiesOf(answer) });
  const news: string[] = [];
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void news.push("tools"));
  client.setNotificationHandler(
    ResourceUpdatedNotificationSchema,
    ({ params }) => void news.push(params.uri),
  );
  if (answer !== "unable")
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({
      ...(await answer(params.message)),
    }));
  const http = where instanceof URL ? new Http1(where, { requestInit: { headers } }) : undefined;
  // The library's own types do not agree under exactOptionalPropertyTypes.
  await client.connect((http ?? new Stdio1(programOf(where as readonly string[]))) as Transport);
  return {
    revision: http?.protocolVersion,
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
      await http?.terminateSession();
      await client.close();
    },
  };
};

/** The 2.x library: `legacy` speaks 2025-11-25, `modern` speaks 2026-07-28 and listens on a stream of its own. */
export const connectVersion2 = async (
  where: Where,
  era: "legacy" | "modern",
  headers: Headers = {},
  answer: AnswerQuestion | "unable" = () => ANSWER,
): Promise<Peer> => {
  const client = new Client2(ABOUT, {
    capabilities: capabilitiesOf(answer),
    versionNegotiation: { mode: era === "modern" ? { pin: "2026-07-28" } : "legacy" },
  });
  const news: string[] = [];
  client.setNotificationHandler("notifications/tools/list_changed", () => void news.push("tools"));
  client.setNotificationHandler(
    "notifications/resources/updated",
    ({ params }) => void news.push(params.uri),
  );
  if (answer !== "unable")
    client.setRequestHandler("elicitation/create", async ({ params }) => ({
      ...(await answer(params.message)),
    }));
  const http = where instanceof URL ? new Http2(where, { requestInit: { headers } }) : undefined;
  await client.connect(http ?? new Stdio2(programOf(where as readonly string[])));
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
      if (era === "legacy") await http?.terminateSession();
      await client.close();
    },
  };
};
