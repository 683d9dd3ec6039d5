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
  { app, lanes }: Door,
  mcp: FetchLikeMcpHandler,
  maxRequestBytes: number,
): void => {
  const handle = toNodeHandler(mcp, { maxRequestBodySize: maxRequestBytes });
  app.route({
    method: ["GET", "POST", "DELETE"],
    url: "/mcp",
    handler: async (request, reply) => {
      const { name, scopes } = identityOf(request);
      const { visit, raw, body } = request;
      const work = (): Promise<void> => {
        reply.hijack();
        reply.raw.setHeader("x-correlation-id", request.id);
        // The handler reads the id from the request, so that both sides log the same one.
        raw.headers["x-correlation-id"] = request.id;
        // The secret itself goes no further than the door.
        const known = Object.assign(raw, { auth: { token: "", clientId: name, scopes: [...scopes] } });
        return handle(known as Parameters<typeof handle>[0], reply.raw, body);
      };
      if (isStanding(request)) visit.end(false);
      if (CALLS.has(String(methodOf(body)))) await lanes.run(name, visit, work);
      else await work();
      return reply;
    },
  });
};
