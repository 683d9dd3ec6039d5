import type { Readable, Writable } from "node:stream";
import type { Transport } from "@modelcontextprotocol/server";
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
  /** The client closed its end, and so many of its requests were not answered in time. */
  readonly onDropped: (count: number) => void;
}

/** How long unfinished answers are waited for after the client closed its end. */
const GRACE_MS = 1000;

/** Serves one connection on a transport until it closes. */
export const serveConnection = (
  parts: McpParts & { readonly newId: () => string },
  transport: Transport,
  id: () => string,
  /** Resolves when the core's lists are known. */
  ready: Promise<void> = Promise.resolve(),
): { readonly closed: Promise<void>; close(): Promise<void> } => {
  const connection = {
    transport: "stdio",
    principal: LOCAL,
    get id() {
      return id();
    },
    may: new Set<string>(EFFECTS),
    newCorrelationId: parts.newId,
  } as const;
  const handle = serveStdio(
    async ({ era }) => {
      await ready;
      return createMcpServer(parts, connection, era);
    },
    { transport, onerror: parts.onError },
  );
  const afterSdk = transport.onclose;
  const closed = new Promise<void>((resolve) => {
    transport.onclose = () => {
      afterSdk?.();
      resolve();
    };
  });
  return { closed, close: () => handle.close() };
};

/** The stdio door: whoever started the process may do everything that the configuration allows. */
export const openStdioDoor = (
  parts: StdioDoorParts,
): { readonly closed: Promise<void>; close(): Promise<void> } => {
  let id: string | undefined;
  const nameConnection = (): string => {
    id ??= parts.newId();
    return id;
  };
  return serveConnection(parts, new StdioTransport({ ...parts, graceMs: GRACE_MS }), nameConnection);
};
