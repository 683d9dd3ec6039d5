import type { FastifyReply, FastifyRequest } from "fastify";
import { renderForHttp, toLlmcError } from "../base/error.ts";
import type { Door } from "./door.ts";
import { openEventStream, progressData } from "./event-stream.ts";

export const wantsEvents = ({ headers: { accept } }: FastifyRequest): boolean =>
  accept?.includes("text/event-stream") ?? false;

export interface CallEvents {
  /** When the call has its place: until then it can be refused with a status of its own. */
  open(): void;
  progress(...step: Parameters<typeof progressData>): void;
}

/** A call whose progress, and then result or error, go out as server-sent events. */
export const streamed = async (
  { onInternalError }: Door,
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
