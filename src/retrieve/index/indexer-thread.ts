import type { EmbedderFiles } from "../../host/os/assets.ts";
import { serveThread } from "../../host/threads/serve-thread.ts";
import { createStaticEmbedder } from "../embed/static-embedder.ts";
import { createFileIndexer, type FileRequest, type FileResult } from "./file-indexer.ts";
import type { IndexSettings } from "./settings.ts";

/** What an indexer thread is given at its start. */
export interface IndexerThreadData {
  readonly workspace: string;
  readonly embedderFiles: EmbedderFiles;
}

export type IndexerThreadMethods = {
  readonly index: {
    readonly takes: { readonly requests: readonly FileRequest[]; readonly settings: IndexSettings };
    readonly gives: readonly FileResult[];
    readonly emits: never;
  };
  readonly indexWithoutParsing: {
    readonly takes: { readonly path: string; readonly reason: string; readonly settings: IndexSettings };
    readonly gives: FileResult;
    readonly emits: never;
  };
};

serveThread<IndexerThreadMethods>(({ workspace, embedderFiles }: IndexerThreadData) => {
  const indexer = createFileIndexer(workspace, createStaticEmbedder(embedderFiles));
  return {
    handlers: {
      index: async ({ requests, settings }, { signal }) => {
        const results: FileResult[] = [];
        for (const request of requests) results.push(await indexer.index(request, settings, signal));
        return results;
      },
      indexWithoutParsing: ({ path, reason, settings }) =>
        indexer.indexWithoutParsing(path, reason, settings),
    },
    close: async () => indexer.close(),
  };
});
