// The yardstick: the smallest server that the same SDK can make, written as anybody would write it.
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

serveStdio(() => {
  const server = new McpServer({ name: "bare", version: "1.0.0" });
  server.registerTool("noop", { description: "Does nothing.", inputSchema: z.object({}) }, () => ({
    content: [{ type: "text", text: "ok" }],
  }));
  return server;
});
