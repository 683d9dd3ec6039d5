import type { EmbedderFiles } from "../../host/os/assets.ts";
import { serveThread } from "../../host/threads/serve-thread.ts";
import { createStaticEmbedder } from "../embed/static-embedder.ts";
import { type UnweighedFile, type WeighedFile, weighFile } from "./file-entry.ts";

/** What a weighing thread is told at its start. */
export interface WeighThreadData {
  readonly embedderFiles: EmbedderFiles;
}

export type WeighThreadMethods = {
  readonly weigh: {
    readonly takes: readonly UnweighedFile[];
    readonly gives: readonly WeighedFile[];
    readonly tells: never;
  };
};

serveThread<WeighThreadMethods>(({ embedderFiles }: WeighThreadData) => {
  const embedder = createStaticEmbedder(embedderFiles);
  return {
    handlers: {
      weigh: (files) => files.map((file) => weighFile(file, embedder)),
    },
    close: async () => {},
  };
});
