import { parentPort, workerData } from "node:worker_threads";
import { LlmcError } from "../../base/error.ts";
import { type FromThread, sendError, type ThreadMethods, type ToThread } from "./messages.ts";

interface CallContext<Event> {
  readonly signal: AbortSignal;
  readonly emit: (event: Event) => void;
}

export type ThreadHandlers<M extends ThreadMethods> = {
  readonly [K in keyof M]: (
    params: M[K]["takes"],
    context: CallContext<M[K]["emits"]>,
  ) => M[K]["gives"] | Promise<M[K]["gives"]>;
};

/** The inside of a thread: answers what `startThread` asks, several calls at once. */
export const serveThread = <M extends ThreadMethods>(
  create: (data: never) => { readonly handlers: ThreadHandlers<M>; readonly close: () => Promise<void> },
): void => {
  const port = parentPort;
  if (port === null) throw new Error("not in a thread");
  const { handlers, close } = create(workerData as never);
  const running = new Map<number, AbortController>();
  const send = (message: FromThread): void => port.postMessage(message);

  const answer = async (id: number, method: string, params: unknown): Promise<void> => {
    const controller = new AbortController();
    running.set(id, controller);
    try {
      const handler = handlers[method];
      if (handler === undefined) throw new Error(`no method ${method}`);
      const emit = (event: unknown): void => send({ type: "event", id, event });
      send({ type: "done", id, value: await handler(params, { signal: controller.signal, emit }) });
    } catch (error) {
      send({ type: "failed", id, error: sendError(error) });
    } finally {
      running.delete(id);
    }
  };

  const stop = async (): Promise<void> => {
    for (const controller of running.values())
      controller.abort(new LlmcError("cancelled", "The server is stopping."));
    await close().catch(() => {});
    send({ type: "closed" });
  };

  port.on("message", (message: ToThread) => {
    if (message.type === "call") void answer(message.id, message.method, message.params);
    else if (message.type === "cancel") running.get(message.id)?.abort();
    else void stop();
  });
};
