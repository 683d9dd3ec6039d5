import type { Readable, Writable } from "node:stream";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { EFFECTS, LOCAL } from "../core/contract.ts";
import { createMcpServer, type McpParts } from "./server.ts";
import { StdioTransport } from "./stdio-transport.ts";

interface StdioDoorParts extends McpParts {
  readonly input: Readable;
  readonly output: Writable;
  readonly maxFrameBytes: () => number;
  readonly newId: () => string;
  /** A message was malformed; the reason never quotes it. */
  readonly onRefused: (reason: string) => void;
}

/** How long unfinished answers are waited for after the client closed its end. */
const GRACE_MS = 1000;

/** The stdio door: whoever started the process may do everything that the configuration allows. */
export const openStdioDoor = (
  parts: StdioDoorParts,
): { readonly closed: Promise<void>; close(): Promise<void> } => {
  let id: string | undefined;
  const connection = {
    transport: "stdio",
    principal: LOCAL,
    get id() {
      id ??= parts.newId();
      return id;
    },
    may: new Set<string>(EFFECTS),
    newCorrelationId: parts.newId,
  } as const;
  const transport = new StdioTransport({ ...parts, graceMs: GRACE_MS });
  const handle = serveStdio(({ era }) => createMcpServer(parts, connection, era), {
    transport,
    onerror: parts.onError,
  });
  const afterSdk = transport.onclose;
  const closed = new Promise<void>((resolve) => {
    transport.onclose = () => {
      afterSdk?.();
      resolve();
    };
  });
  return { closed, close: () => handle.close() };
};
