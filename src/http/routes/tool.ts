import type { z } from "zod";
import { renderForHttp, toLlmcError } from "../../base/error.ts";
import { validateArguments } from "../../core/validate.ts";
import { payloadOf } from "../answer.ts";
import { toolBody } from "../bodies.ts";
import { asCall, type Door } from "../door.ts";
import { openEventStream, progressData } from "../event-stream.ts";

const wantsEvents = (accept: string | undefined): boolean => accept?.includes("text/event-stream") ?? false;

/** `POST /tool`: one call; as server-sent events for clients that ask for them. */
export const addToolRoute = (door: Door): void => {
  const { app, core } = door;
  app.post("/tool", async (request, reply) => {
    const body = (await validateArguments(toolBody, request.body)) as z.infer<typeof toolBody>;
    const { session_id: sessionId, name: tool, args } = body;
    if (!wantsEvents(request.headers.accept)) {
      return payloadOf(
        await asCall(door, request, sessionId, (origin) => core.call({ ...origin, tool, args })),
      );
    }
    reply.hijack();
    const stream = openEventStream(reply.raw, request.id);
    try {
      const result = await asCall(
        door,
        request,
        sessionId,
        (origin) => core.call({ ...origin, tool, args }),
        async (...step) => stream.send("progress", progressData(...step)),
      );
      stream.send("result", payloadOf(result));
    } catch (thrown) {
      const error = toLlmcError(thrown);
      if (error.code === "internal_error" && error !== thrown) door.onInternalError(error, request.id);
      stream.send("error", renderForHttp(error, request.id));
    }
    stream.end();
    return reply;
  });
};
