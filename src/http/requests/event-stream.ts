import type { ServerResponse } from "node:http";

/** The events of a streamed call: any number of `progress`, then one `result` or `error`. */
export type StreamEvent = "progress" | "result" | "error";

/** Proxies close connections that are silent for too long. */
const HEARTBEAT_MS = 15_000;

/** Server-sent events on a hijacked response. */
export const openEventStream = (response: ServerResponse, correlationId: string) => {
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
    "x-content-type-options": "nosniff",
    "x-correlation-id": correlationId,
  });
  // Tells the client at once that the call was accepted.
  response.write(": open\n\n");
  const heartbeat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(": still here\n\n");
  }, HEARTBEAT_MS);
  response.once("close", () => clearInterval(heartbeat));
  return {
    /** A client that reads too slowly may miss progress, but never the result. */
    send: (event: StreamEvent, data: unknown): void => {
      if (event === "progress" && response.writableNeedDrain) return;
      response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    end: (): void => {
      clearInterval(heartbeat);
      response.end();
    },
  };
};

export const progressData = (done: number, total?: number, message?: string) => ({
  done,
  ...(total === undefined ? {} : { total }),
  ...(message === undefined ? {} : { message }),
});
