import type { FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import { renderForHttp, toLlmcError } from "../../base/error.ts";
import { validateArguments } from "../../core/validate.ts";
import { payloadOf } from "../answer.ts";
import { toolBody } from "../bodies.ts";
import { asCall, type Door } from "../door.ts";
import { openEventStream, progressData } from "../event-stream.ts";

type ToolBody = z.infer<typeof toolBody>;

const wantsEvents = (accept: string | undefined): boolean => accept?.includes("text/event-stream") ?? false;

/** The same call, with its progress, as server-sent events. */
const streamCall = async (
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
  { session_id: sessionId, name: tool, args }: ToolBody,
): Promise<FastifyReply> => {
  let stream: ReturnType<typeof openEventStream> | undefined;
  try {
    const result = await asCall(
      door,
      request,
      sessionId,
      (origin) => {
        // Not before the call has its place: until then it can be refused with a status of its own.
        reply.hijack();
        stream = openEventStream(reply.raw, request.id);
        return door.core.call({ ...origin, tool, args });
      },
      async (...step) => stream?.send("progress", progressData(...step)),
    );
    stream?.send("result", payloadOf(result));
  } catch (thrown) {
    if (stream === undefined) throw thrown;
    const error = toLlmcError(thrown);
    if (error.code === "internal_error" && error !== thrown) door.onInternalError(error, request.id);
    stream.send("error", renderForHttp(error, request.id));
  }
  stream?.end();
  return reply;
};

/** `POST /tool`: one call; as server-sent events for clients that ask for them. */
export const addToolRoute = (door: Door): void => {
  const { app, core } = door;
  app.post("/tool", async (request, reply) => {
    const checked = validateArguments(toolBody, request.body);
    const body = (checked instanceof Promise ? await checked : checked) as ToolBody;
    if (wantsEvents(request.headers.accept)) return streamCall(door, request, reply, body);
    const { session_id: sessionId, name: tool, args } = body;
    return payloadOf(
      await asCall(door, request, sessionId, (origin) => core.call({ ...origin, tool, args })),
    );
  });
};
