import { LlmcError } from "../../base/error.ts";
import { type LocalModelSetting, openLocalModel } from "../../host/os/local-model.ts";
import { serveThread } from "../../host/threads/serve-thread.ts";
import type { AsyncEmbedder } from "./async-embedder.ts";
import { createOnnxEmbedder, type OnnxRuntime } from "./onnx-embedder.ts";

/** What the thread is given at its start. */
export interface OnnxThreadData {
  readonly setting: LocalModelSetting;
  readonly threads: number;
}

/** Every call but the first names the model it is for. */
type Method<Takes extends object, Gives> = {
  readonly takes: Takes & { readonly id: string };
  readonly gives: Gives;
  readonly emits: never;
};

export type OnnxThreadMethods = {
  readonly open: {
    readonly takes: null;
    readonly gives: { readonly id: string; readonly dimensions: number };
    readonly emits: never;
  };
  readonly embedChunks: Method<
    { readonly chunks: readonly { readonly path: string; readonly text: string }[] },
    readonly Int8Array[]
  >;
  readonly embedQuery: Method<{ readonly text: string }, Int8Array>;
};

serveThread<OnnxThreadMethods>(({ setting, threads }: OnnxThreadData) => {
  let opening: Promise<AsyncEmbedder> | undefined;
  const opened = (): Promise<AsyncEmbedder> => {
    opening ??= (async () => {
      const { model, runtime } = openLocalModel(setting);
      return createOnnxEmbedder(runtime as OnnxRuntime, model, threads);
    })().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  /** A thread that was restarted may find other files than before. */
  const embedderOf = async (id: string): Promise<AsyncEmbedder> => {
    const embedder = await opened();
    if (embedder.id === id) return embedder;
    throw new LlmcError("unavailable", "The embedding model was replaced by another one.", {
      hint: "Ask again: the index will use the new one.",
      retryable: true,
    });
  };
  return {
    handlers: {
      open: async () => {
        const { id, dimensions } = await opened();
        return { id, dimensions };
      },
      embedChunks: async ({ id, chunks }, { signal }) => (await embedderOf(id)).embedChunks(chunks, signal),
      embedQuery: async ({ id, text }) => (await embedderOf(id)).embedQuery(text),
    },
    close: async () => {},
  };
});
