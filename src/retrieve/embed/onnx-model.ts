import { extname, join } from "node:path";
import type { LocalModelSetting } from "../../host/os/local-model.ts";
import { createJobThread } from "../../host/threads/job-thread.ts";
import type { EmbeddingModel } from "./async-embedder.ts";
import type { OnnxThreadData, OnnxThreadMethods } from "./onnx-thread.ts";

/** Beside this file, and built like it. */
const ENTRY = join(import.meta.dirname, `onnx-thread${extname(import.meta.filename)}`);

/** A batch takes a second on an idle core, and many on a busy machine. */
const JOB_TIMEOUT_MS = 300_000;
/** The model takes some hundred megabytes; loading it again takes a fifth of a second. */
const IDLE_MS = 600_000;

/**
 * The model in a thread of its own, which it blocks while it works. `threads` is the number of threads of the runtime. Calls
 * are not aborted half way, since that would end the thread and unload the model; they are short.
 */
export const createOnnxModel = (setting: LocalModelSetting, threads: number): EmbeddingModel => {
  const data: OnnxThreadData = { setting, threads };
  const pool = createJobThread<OnnxThreadMethods>({
    entry: ENTRY,
    name: "embedding",
    data,
    jobTimeoutMs: JOB_TIMEOUT_MS,
    idleMs: IDLE_MS,
  });
  return {
    open: async () => {
      const { id, dimensions } = await pool.run("open", null);
      return {
        id,
        dimensions,
        embedChunks: (chunks) => pool.run("embedChunks", { id, chunks }),
        embedQuery: (text) => pool.run("embedQuery", { id, text }),
      };
    },
    close: pool.close,
  };
};
