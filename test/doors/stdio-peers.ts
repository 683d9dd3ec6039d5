import { Client as Client2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import type { ToolResult } from "../server.ts";
import { cleanEnv, launcher } from "../workspace.ts";

interface ListedTool {
  readonly name: string;
  readonly outputSchema?: unknown;
}

/** A client of the official libraries, over stdio. */
export interface StdioPeer {
  readonly revision: string | undefined;
  readonly instructions: string | undefined;
  tools(): Promise<readonly ListedTool[]>;
  call(name: string, args?: Record<string, unknown>): Promise<ToolResult>;
  resources(): Promise<readonly string[]>;
  read(uri: string): Promise<string>;
  /** How often the server said that its tool list changed. */
  toolNews(): number;
  close(): Promise<void>;
}

const ABOUT = { name: "llmc-test", version: "1.0.0" };

const parametersOf = (root: string, args: readonly string[]) => ({
  command: launcher,
  args: ["serve", "--stdio", "--root", root, ...args],
  env: cleanEnv(),
  cwd: "/",
  stderr: "ignore" as const,
});

const textIn = (contents: readonly unknown[]): string => {
  const [first] = contents;
  if (typeof first !== "object" || first === null || !("text" in first)) throw new Error("no text came back");
  return String(first.text);
};

const connectVersion1 = async (root: string, args: readonly string[]): Promise<StdioPeer> => {
  const client = new Client1(ABOUT);
  let news = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    news++;
  });
  let revision: string | undefined;
  const transport: Transport = new Stdio1(parametersOf(root, args));
  transport.setProtocolVersion = (version) => {
    revision = version;
  };
  await client.connect(transport);
  return {
    revision,
    instructions: client.getInstructions(),
    tools: async () => (await client.listTools()).tools,
    call: async (name, given = {}) =>
      (await client.callTool({ name, arguments: given })) as unknown as ToolResult,
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    read: async (uri) => textIn((await client.readResource({ uri })).contents),
    toolNews: () => news,
    close: () => client.close(),
  };
};

const connectVersion2 =
  (mode: "legacy" | "auto" | { readonly pin: string }) =>
  async (root: string, args: readonly string[]): Promise<StdioPeer> => {
    const client = new Client2(ABOUT, { versionNegotiation: { mode } });
    let news = 0;
    client.setNotificationHandler("notifications/tools/list_changed", () => {
      news++;
    });
    await client.connect(new Stdio2(parametersOf(root, args)));
    const revision = client.getNegotiatedProtocolVersion();
    if (revision === "2026-07-28") await client.listen({ toolsListChanged: true });
    return {
      revision,
      instructions: client.getInstructions(),
      // The library keeps lists for as long as the server allows; these tests want the server's own word.
      tools: async () => (await client.listTools(undefined, { cacheMode: "refresh" })).tools,
      call: async (name, given = {}) =>
        (await client.callTool({ name, arguments: given })) as unknown as ToolResult,
      resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
      read: async (uri) => textIn((await client.readResource({ uri })).contents),
      toolNews: () => news,
      close: () => client.close(),
    };
  };

/** Every library and revision that real clients use today. */
export const STDIO_PEERS = [
  { library: "1.x", revision: "2025-11-25", connect: connectVersion1 },
  { library: "2.x legacy", revision: "2025-11-25", connect: connectVersion2("legacy") },
  { library: "2.x auto", revision: "2026-07-28", connect: connectVersion2("auto") },
  { library: "2.x pinned", revision: "2026-07-28", connect: connectVersion2({ pin: "2026-07-28" }) },
] as const;
