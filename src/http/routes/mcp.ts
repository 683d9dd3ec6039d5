import { type FetchLikeMcpHandler, toNodeHandler } from "@modelcontextprotocol/node";
import type { FastifyRequest } from "fastify";
import { type Door, identityOf } from "../door.ts";

/** Requests that do work and then end; all others answer at once or stay open for news. */
const CALLS = new Set(["tools/call", "resources/read", "prompts/get", "completion/complete"]);

const methodOf = (body: unknown): unknown =>
  typeof body === "object" && body !== null && "method" in body ? body.method : undefined;

/** Streams that stay open until the client has enough: a stop does not wait for them. */
const isStanding = (request: FastifyRequest): boolean =>
  request.method === "GET" || methodOf(request.body) === "subscriptions/listen";

/** `/mcp`: the protocol itself, with the identity of the token. */
export const addMcpRoute = (
  { app, lanes, standings }: Door,
  mcp: FetchLikeMcpHandler,
  maxRequestBytes: number,
): void => {
  const handle = toNodeHandler(mcp, { maxRequestBodySize: maxRequestBytes });
  app.route({
    method: ["GET", "POST", "DELETE"],
    url: "/mcp",
    handler: async (request, reply) => {
      const identity = identityOf(request);
      const { name, principal, scopes } = identity;
      const { visit, raw, body } = request;
      const work = (): Promise<void> => {
        reply.hijack();
        reply.raw.setHeader("x-correlation-id", request.id);
        // The handler reads the id from the request, so that both sides log the same one.
        raw.headers["x-correlation-id"] = request.id;
        // The secret itself goes no further than the door.
        const auth = { token: "", clientId: principal, scopes: [...scopes], extra: { name } };
        const known = Object.assign(raw, { auth });
        return handle(known as Parameters<typeof handle>[0], reply.raw, body);
      };
      // An answer that has begun cannot become a refusal: the connection ends, and with it the work.
      const end = (): void => void reply.raw.destroy();
      if (visit.aborted) return end();
      if (isStanding(request)) {
        visit.end(false);
        reply.raw.once("close", standings.add({ identity, end }));
      } else visit.addEventListener("abort", { handleEvent: end });
      if (CALLS.has(String(methodOf(body)))) await lanes.run(name, visit, work);
      else await work();
      return reply;
    },
  });
};
