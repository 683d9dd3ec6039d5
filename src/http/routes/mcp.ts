import { type FetchLikeMcpHandler, toNodeHandler } from "@modelcontextprotocol/node";
import type { FastifyRequest } from "fastify";
import { LlmcError } from "../../base/error.ts";
import type { Slot } from "../../core/origin.ts";
import { identityOf, type RouteContext } from "./context.ts";
import { createWaitingCalls } from "./waiting-calls.ts";

/** Requests that do work and then end; all others answer at once or stay open for notifications. */
const CALLS = new Set(["tools/call", "resources/read", "prompts/get", "completion/complete"]);

const methodOf = (body: unknown): unknown =>
  typeof body === "object" && body !== null && "method" in body ? body.method : undefined;

/** Of one token, WebSockets included: together the tokens share the connections of the server. */
const MAX_STREAMS = 128;

/** Streams that stay open until the client closes them: a shutdown does not wait for them. */
const staysOpen = (request: FastifyRequest): boolean =>
  request.method === "GET" || methodOf(request.body) === "subscriptions/listen";

/** `/mcp`: the protocol itself, with the identity of the token. */
export const addMcpRoute = (
  { app, authorizer, concurrency, connections }: RouteContext,
  mcp: FetchLikeMcpHandler,
  maxRequestBytes: number,
): void => {
  const waitingCalls = createWaitingCalls();
  const handle = toNodeHandler(mcp, { maxRequestBodySize: maxRequestBytes });
  app.route({
    method: ["GET", "POST", "DELETE"],
    url: "/mcp",
    handler: async (request, reply) => {
      const { inFlight, raw, body } = request;
      const identity = identityOf(inFlight);
      const { name, principal, scopes } = identity;
      // The protocol has no batches any more; as one request, a hundred calls would pass every limit of a token.
      if (Array.isArray(body))
        throw new LlmcError("invalid_args", "Batches are not supported.", {
          hint: "Send one message per request.",
        });
      if (staysOpen(request) && connections.countOf(principal) >= MAX_STREAMS)
        throw new LlmcError("rate_limited", "Too many streams are open with this token.", {
          hint: "Close one of them, or use one for several subscriptions.",
        });
      const work = (slot?: Slot): Promise<void> => {
        reply.hijack();
        reply.raw.setHeader("x-correlation-id", request.id);
        // The handler reads the id from the request, so that both sides log the same one.
        raw.headers["x-correlation-id"] = request.id;
        // The secret itself is not passed on.
        const extra = { name, slot, mayNow: () => authorizer.scopesNow(identity) };
        const auth = { token: "", clientId: principal, scopes: [...scopes], extra };
        const known = Object.assign(raw, { auth });
        return handle(known as Parameters<typeof handle>[0], reply.raw, body);
      };
      // An answer that has begun cannot become an error: the connection ends, and with it the work.
      const end = (): void => void reply.raw.destroy();
      if (inFlight.signal.aborted) return end();
      if (staysOpen(request)) {
        inFlight.end(false);
        reply.raw.once("close", connections.add({ identity, end }));
      } else inFlight.signal.addEventListener("abort", end);
      const session = request.headers["mcp-session-id"];
      waitingCalls.notice(principal, session, body);
      if (CALLS.has(String(methodOf(body)))) {
        using waiting = waitingCalls.add(principal, session, body);
        const signal = AbortSignal.any([inFlight.signal, waiting.signal]);
        const begin = (slot: Slot): Promise<void> => {
          waiting[Symbol.dispose]();
          return work(slot);
        };
        await concurrency.run(name, signal, begin, inFlight.correlationId);
      } else await work();
      return reply;
    },
  });
};
