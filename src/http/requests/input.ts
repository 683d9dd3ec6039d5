import type { IncomingMessage, ServerResponse } from "node:http";
import { parseGuardedBytes } from "../../base/json-guard.ts";
import { type ByteBudget, createByteBudget } from "../../link/byte-budget.ts";
import { decodeRefusal, MAX_GROWTH, readRefusedTrailer, takeLinkHeaders } from "../../link/http-link.ts";
import { readBodyWithin } from "../../link/read-body.ts";

/** How requests reach the server: from clients themselves, or through a front that has read them. */
export interface HttpInput {
  /** Of the peer; proxies that are trusted are not looked behind yet. */
  addressOf(request: IncomingMessage): string;
  /** The body as JSON, checked before it is parsed. */
  readBody(request: IncomingMessage, maxBytes: number): Promise<unknown>;
  readMessage(message: Uint8Array, isBinary: boolean): unknown;
  /** How much longer than a client's a message of a WebSocket may be. */
  readonly growth: number;
  /** Of all bodies and messages that have not come to their end. */
  readonly unfinished: ByteBudget;
}

export const createDirectInput = (maxUnfinishedBytes: number): HttpInput => {
  const unfinished = createByteBudget(maxUnfinishedBytes);
  return {
    addressOf: ({ socket }) => socket.remoteAddress ?? "",
    readBody: async (request, maxBytes) =>
      parseGuardedBytes(await readBodyWithin(unfinished, request, maxBytes)),
    readMessage: (message) => parseGuardedBytes(message),
    growth: 1,
    unfinished,
  };
};

/**
 * What a front passes on is checked again: the front may have been taken over. It asks before it sends a body, so that
 * none is read, there as well, whose client may not send it.
 */
export const createPassedOnInput = (maxUnfinishedBytes: number) => {
  const unfinished = createByteBudget(MAX_GROWTH * maxUnfinishedBytes);
  const addresses = new WeakMap<IncomingMessage, string>();
  const waiting = new WeakMap<IncomingMessage, ServerResponse>();
  const input: HttpInput = {
    addressOf: (request) => addresses.get(request) ?? "",
    readBody: async (request, maxBytes) => {
      waiting.get(request)?.writeContinue();
      const bytes = await readBodyWithin(unfinished, request, MAX_GROWTH * maxBytes);
      const refusal = readRefusedTrailer(request);
      if (refusal !== undefined) throw refusal;
      return parseGuardedBytes(bytes);
    },
    readMessage: (message, isBinary) => {
      const value = parseGuardedBytes(message);
      const refusal = isBinary ? decodeRefusal(value) : undefined;
      if (refusal !== undefined) throw refusal;
      return value;
    },
    growth: MAX_GROWTH,
    unfinished,
  };
  return {
    input,
    /** False if it is not a request that a front passes on. */
    admit: (request: IncomingMessage): boolean => {
      const address = takeLinkHeaders(request);
      if (address !== undefined) addresses.set(request, address);
      return address !== undefined;
    },
    /** The front waits with the body until it is asked for. */
    expectsAsking: (request: IncomingMessage, response: ServerResponse): void => {
      waiting.set(request, response);
    },
  };
};
