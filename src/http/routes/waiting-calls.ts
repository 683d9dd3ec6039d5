import { LlmcError } from "../../base/error.ts";
import { isRecord } from "../../base/is-record.ts";

/**
 * Calls of MCP sessions that wait for a place among those of their token. The MCP library gets them only then, so a
 * notification that cancels one before would be about nothing, and the call would be made all the same.
 */
export const createWaitingCalls = () => {
  const waiting = new Map<string, AbortController>();
  const keyOf = (principal: string, session: unknown, id: unknown): string =>
    JSON.stringify([principal, session, id]);

  return {
    /** To be disposed of when the call waits no more. Its signal fires when the client cancels it. */
    add: (
      principal: string,
      session: unknown,
      body: unknown,
    ): Disposable & { readonly signal: AbortSignal } => {
      const controller = new AbortController();
      // Without a session nobody cancels by an id, and clients of one token may use the same.
      if (session === undefined) return { signal: controller.signal, [Symbol.dispose]: () => {} };
      const key = keyOf(principal, session, isRecord(body) ? body["id"] : undefined);
      if (waiting.has(key))
        throw new LlmcError("invalid_args", "A request with this id has no answer yet.", {
          hint: "Give each request an id of its own.",
        });
      waiting.set(key, controller);
      return {
        signal: controller.signal,
        // Another call may have come under its id since it began.
        [Symbol.dispose]: () => {
          if (waiting.get(key) === controller) waiting.delete(key);
        },
      };
    },
    /** If a message cancels a call of its session that waits, the signal of that call fires. */
    notice: (principal: string, session: unknown, body: unknown): void => {
      if (session === undefined || !isRecord(body) || body["method"] !== "notifications/cancelled") return;
      const { params } = body;
      if (isRecord(params)) waiting.get(keyOf(principal, session, params["requestId"]))?.abort();
    },
  };
};
