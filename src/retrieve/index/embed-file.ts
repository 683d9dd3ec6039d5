import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import type { AsyncEmbedder } from "../embed/async-embedder.ts";
import { textsOf } from "./chunk-texts.ts";
import type { FileIndexer } from "./file-indexer.ts";
import type { LoadedFile, LoadedIndex } from "./loaded-index.ts";
import type { IndexSettings } from "./settings.ts";

export interface FileEmbedderParts {
  readonly loaded: LoadedIndex;
  readonly indexer: FileIndexer;
  readonly settings: () => IndexSettings;
  /** Opens the embedder again after a failure. */
  readonly reopen: () => Promise<AsyncEmbedder>;
}

/**
 * The vectors of one file's chunks, in their order. `changed`: the file on the disk is no longer the indexed one, and will
 * come here again once it is indexed; `failed`: the model crashes on it.
 */
export type EmbeddedFile = readonly Int8Array[] | "changed" | "failed";

/** Chunks per call of the model: a fraction of a second of work, so that a question does not wait long for its turn. */
const BATCH_CHUNKS = 8;

export const createFileEmbedder = ({ loaded, indexer, settings, reopen }: FileEmbedderParts) => {
  const embedTexts = async (
    embedder: AsyncEmbedder,
    path: string,
    texts: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly Int8Array[]> => {
    const made: Int8Array[] = [];
    for (let at = 0; at < texts.length; at += BATCH_CHUNKS) {
      const batch = texts.slice(at, at + BATCH_CHUNKS).map((text) => ({ path, text }));
      made.push(...(await embedder.embedChunks(batch, signal)));
      stopIfAborted(signal);
    }
    return made;
  };

  return async (
    embedder: AsyncEmbedder,
    path: string,
    file: LoadedFile,
    signal: AbortSignal,
  ): Promise<EmbeddedFile> => {
    const read = await indexer.files(settings()).read(path, settings().maxFileBytes, signal);
    if (read.kind !== "text" || read.hash !== file.hash) return "changed";
    if (loaded.files.get(path)?.chunkIds !== file.chunkIds) return "changed";
    const texts = textsOf(loaded, file, read.text);
    try {
      return await embedTexts(embedder, path, texts, signal);
    } catch {
      stopIfAborted(signal);
    }
    // Where the model itself is gone or was replaced, the file is not to blame.
    const again = await reopen();
    if (again.id !== embedder.id)
      throw new LlmcError("unavailable", "The embedding model was replaced by another one.", {
        hint: "Ask again: the index will use the new one.",
        retryable: true,
      });
    try {
      return await embedTexts(again, path, texts, signal);
    } catch {
      stopIfAborted(signal);
      return "failed";
    }
  };
};
