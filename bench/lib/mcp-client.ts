import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { cleanEnvironment, type Launch, type ToolArguments, textOf } from "./server-process.ts";

/** A server as a client of the official library sees it. */
export interface McpClient extends AsyncDisposable {
  readonly tools: readonly string[];
  /** All text of the answer. A tool that is not listed is never called: no model would know of it. */
  ask(tool: string, args: ToolArguments): Promise<string>;
}

export const connectClient = async ({ command, args, env = {} }: Launch): Promise<McpClient> => {
  const client = new Client({ name: "llmc-bench", version: "1.0.0" });
  await client.connect(
    new StdioClientTransport({
      command,
      args: [...args],
      env: { ...cleanEnvironment(), ...env },
      stderr: "ignore",
    }),
  );
  const tools = (await client.listTools()).tools.map(({ name }) => name);
  return {
    tools,
    ask: async (tool, given) => {
      if (!tools.includes(tool)) throw new Error(`The server lists no ${tool}, only ${tools.join(", ")}.`);
      const { content, isError } = await client.callTool({ name: tool, arguments: { ...given } });
      if (isError) throw new Error(`${tool} failed: ${textOf(content)}`);
      return textOf(content);
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
};
