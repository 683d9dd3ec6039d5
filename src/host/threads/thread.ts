import { SHARE_ENV, Worker } from "node:worker_threads";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { shareV8Flags } from "../os/v8-flags.ts";
import { type FromThread, receiveError, type ThreadMethods, type ToThread } from "./messages.ts";

export interface CallOptions<Event> {
  readonly signal?: AbortSignal | undefined;
  readonly onEvent?: ((event: Event) => void) | undefined;
}

/** Another thread of this process that answers calls. It never keeps the process alive, except while a call waits. */
export interface Thread<M extends ThreadMethods> {
  /** Rejects at once when the signal fires; the thread gets a cancellation, and stops soon. */
  call<K extends keyof M & string>(
    method: K,
    params: M[K]["takes"],
    options?: CallOptions<M[K]["emits"]>,
  ): Promise<M[K]["gives"]>;
  /** False once it has ended, by itself or by `close`: it answers nothing any more. */
  isAlive(): boolean;
  /** Gives the thread a moment to finish, then terminates it. */
  close(): Promise<void>;
  /** Terminates it immediately. */
  kill(): void;
}

export interface ThreadOptions {
  /** Path of the module that calls `serveThread`. */
  readonly entry: string;
  readonly name: string;
  /** What the thread gets at its start: plain data. */
  readonly data?: unknown;
  /** Heap of the thread in MiB: past it the thread ends, and the process goes on. */
  readonly maxHeapMb?: number;
}

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
  readonly onEvent: ((event: never) => void) | undefined;
  readonly leave: () => void;
}

/**
 * V8's own limit is 48 MB for each thread, and the process keeps the pages of a thread that has ended for some seconds. With
 * 6 MB the server holds 70 MB less after its first question, and indexing takes as much processor time.
 */
const MAX_YOUNG_MB = 6;

const CLOSE_WAIT_MS = 3000;

const ended = (name: string, cause: unknown): LlmcError =>
  new LlmcError("unavailable", `The ${name} thread ended unexpectedly.`, {
    hint: "Try again: it is started anew.",
    retryable: true,
    cause,
  });

export const startThread = <M extends ThreadMethods>(options: ThreadOptions): Thread<M> => {
  shareV8Flags();
  const worker = new Worker(options.entry, {
    name: options.name,
    workerData: options.data,
    // Standard output belongs to the protocol. The streams are never read: reading them would keep the process alive,
    // and nobody writes.
    stdout: true,
    stderr: true,
    // So that Node finds its cache of compiled modules: without it a thread starts in three times the time.
    env: SHARE_ENV,
    // Options of the program's own start, such as --input-type, may not fit a file.
    execArgv: [],
    resourceLimits: {
      maxYoungGenerationSizeMb: MAX_YOUNG_MB,
      ...(options.maxHeapMb === undefined ? {} : { maxOldGenerationSizeMb: options.maxHeapMb }),
    },
  });
  worker.unref();

  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let isAlive = true;
  let onClosed = (): void => {};
  const send = (message: ToThread): void => worker.postMessage(message);

  const settle = (id: number): Waiting | undefined => {
    const one = waiting.get(id);
    waiting.delete(id);
    one?.leave();
    if (waiting.size === 0) worker.unref();
    return one;
  };

  const end = (cause: unknown): void => {
    isAlive = false;
    for (const id of [...waiting.keys()]) settle(id)?.reject(ended(options.name, cause));
    onClosed();
  };

  worker.on("message", (message: FromThread) => {
    if (message.type === "closed") onClosed();
    else if (message.type === "event") waiting.get(message.id)?.onEvent?.(message.event as never);
    else if (message.type === "done") settle(message.id)?.resolve(message.value as never);
    else settle(message.id)?.reject(receiveError(message.error));
  });
  worker.on("error", end);
  worker.on("exit", (code) => end(new Error(`exit code ${code}`)));

  return {
    call: (method, params, { signal, onEvent } = {}) =>
      new Promise((resolve, reject) => {
        stopIfAborted(signal);
        if (!isAlive) throw ended(options.name, undefined);
        const id = ++lastId;
        const stop = (): void => {
          send({ type: "cancel", id });
          try {
            stopIfAborted(signal);
          } catch (error) {
            settle(id)?.reject(error);
          }
        };
        signal?.addEventListener("abort", stop, { once: true });
        const leave = (): void => signal?.removeEventListener("abort", stop);
        if (waiting.size === 0) worker.ref();
        waiting.set(id, { resolve, reject, onEvent, leave });
        send({ type: "call", id, method, params });
      }),
    isAlive: () => isAlive,
    close: async () => {
      if (!isAlive) return;
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        onClosed = resolve;
        timer = setTimeout(resolve, CLOSE_WAIT_MS);
        worker.ref();
        send({ type: "close" });
      });
      clearTimeout(timer);
      await worker.terminate();
    },
    kill: () => {
      end(new Error("killed"));
      void worker.terminate();
    },
  };
};
