import { extname, join } from "node:path";
import type { LocalModelPlace } from "../host/os/local-model.ts";
import { startThread, type Thread } from "../host/threads/thread.ts";
import type { Retrieval } from "./engine.ts";
import type { IndexProgress } from "./index/index-status.ts";
import type { IndexThreadData, IndexThreadEvent, IndexThreadMethods } from "./index-thread.ts";
import type { RetrievalOptions } from "./local-retrieval.ts";

export interface ThreadRetrievalOptions extends Omit<RetrievalOptions, "embedderFiles" | "model"> {
  /** Where the model is that makes the vectors; left out: the embedding that came with us does. */
  readonly onnx?: LocalModelPlace | undefined;
}

/** Beside this file, and built like it. */
const ENTRY = join(import.meta.dirname, `index-thread${extname(import.meta.filename)}`);

/**
 * The engine in a thread of its own: nothing that it does holds up the calls of others. The thread starts with the first
 * question, and again should it ever end.
 */
export const createThreadRetrieval = ({
  workspace,
  userState,
  settings,
  onWarning,
  onnx,
}: ThreadRetrievalOptions): Retrieval => {
  let thread: Thread<IndexThreadMethods> | undefined;
  let isClosed = false;

  const running = (): Thread<IndexThreadMethods> => {
    if (thread?.isAlive() !== true) {
      const data: IndexThreadData = { workspace, userState, settings: settings(), onnx };
      thread = startThread({ entry: ENTRY, name: "index", data });
    }
    return thread;
  };

  const call = <K extends keyof IndexThreadMethods & string>(
    method: K,
    params: Omit<IndexThreadMethods[K]["takes"], "settings">,
    signal: AbortSignal | undefined,
    onProgress?: (progress: IndexProgress) => void,
  ): Promise<IndexThreadMethods[K]["gives"]> => {
    if (isClosed) return Promise.reject(new Error("retrieval is closed"));
    const onEvent = (event: IndexThreadEvent): void => {
      if ("warning" in event) onWarning(event.warning);
      else onProgress?.(event.progress);
    };
    const takes = { ...params, settings: settings() } as IndexThreadMethods[K]["takes"];
    return running().call(method, takes, { signal, onEvent });
  };

  return {
    index: ({ force = false }, signal, onProgress) => call("index", { force }, signal, onProgress),
    search: (request, signal) => call("search", { request }, signal),
    stats: (signal) => call("stats", {}, signal),
    whereUsed: (symbol, options, signal) => call("whereUsed", { symbol, options }, signal),
    lineage: (symbol, options, signal) => call("lineage", { symbol, options }, signal),
    inspect: (word, signal) => call("inspect", { word }, signal),
    close: async () => {
      isClosed = true;
      await thread?.close();
      thread = undefined;
    },
  };
};
