import { extname, join } from "node:path";
import type { LocalModelSetting } from "../host/os/local-model.ts";
import { startThread, type Thread } from "../host/threads/thread.ts";
import { createThreadProxy } from "../host/threads/thread-proxy.ts";
import type { Retrieval } from "./engine.ts";
import type { IndexThreadData, IndexThreadMethods } from "./index-thread.ts";
import type { RetrievalOptions } from "./local-retrieval.ts";

export interface ThreadRetrievalOptions extends Omit<RetrievalOptions, "embedderFiles" | "model"> {
  /** The model that computes the vectors; by default, the built-in embedding. */
  readonly onnx?: LocalModelSetting | undefined;
}

/** Beside this file, and built like it. */
const ENTRY = join(import.meta.dirname, `index-thread${extname(import.meta.filename)}`);

/**
 * The engine in a thread of its own, so that indexing and ranking never hold up other calls. The thread starts with the
 * first question, and is restarted if it ends.
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
    if (isClosed) throw new Error("retrieval is closed");
    if (thread?.isAlive() !== true) {
      const data: IndexThreadData = { workspace, userState, settings: settings(), onnx };
      thread = startThread({ entry: ENTRY, name: "index", data });
    }
    return thread;
  };

  const { index, search, stats, whereUsed, lineage, inspect } = createThreadProxy<
    Omit<Retrieval, "close">,
    ReturnType<typeof settings>,
    string
  >(running, settings, onWarning);
  return {
    index,
    search,
    stats,
    whereUsed,
    lineage,
    inspect,
    close: async () => {
      isClosed = true;
      await thread?.close();
      thread = undefined;
    },
  };
};
