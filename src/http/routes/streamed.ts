import type { FastifyReply, FastifyRequest } from "fastify";
import { renderForHttp, toLlmcError } from "../../base/error.ts";
import { openEventStream, progressData } from "../requests/event-stream.ts";
import type { RouteContext } from "./context.ts";

export const wantsEvents = ({ headers: { accept } }: FastifyRequest): boolean =>
  accept?.includes("text/event-stream") ?? false;

interface CallEvents {
  /** Starts the stream. Until then the call can still be refused with an HTTP status. */
  open(): void;
  progress(...step: Parameters<typeof progressData>): void;
}

/** Answers with server-sent events: the progress of a call, then its result or error. */
export const streamed = async (
  { onInternalError }: RouteContext,
  request: FastifyRequest,
  reply: FastifyReply,
  call: (events: CallEvents) => Promise<unknown>,
): Promise<FastifyReply> => {
  let stream: ReturnType<typeof openEventStream> | undefined;
  const events: CallEvents = {
    open: () => {
      reply.hijack();
      stream = openEventStream(reply.raw, request.id);
    },
    progress: (...step) => stream?.send("progress", progressData(...step)),
  };
  try {
    const result = await call(events);
    stream?.send("result", result);
  } catch (thrown) {
    if (stream === undefined) throw thrown;
    const error = toLlmcError(thrown);
    if (error.code === "internal_error" && error !== thrown) onInternalError(error, request.id);
    stream.send("error", renderForHttp(error, request.id));
  }
  stream?.end();
  return reply;
};
