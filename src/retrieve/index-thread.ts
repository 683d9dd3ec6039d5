import type { LocalModelPlace } from "../host/os/local-model.ts";
import { serveThread } from "../host/threads/serve-thread.ts";
import type {
  Inspection,
  Lineage,
  LineageOptions,
  UsageOptions,
  Usages,
} from "../symbols/answers/answers.ts";
import { createOnnxModel } from "./embed/onnx-model.ts";
import type { Answer } from "./engine.ts";
import type { IndexProgress, IndexReport, IndexStats } from "./index/index-status.ts";
import type { IndexSettings } from "./index/settings.ts";
import { createLocalRetrieval } from "./local-retrieval.ts";
import type { SearchRequest, Snippet } from "./rank/search-request.ts";

/** What the index thread is told at its start. */
export interface IndexThreadData {
  readonly workspace: string;
  readonly userState: string;
  readonly settings: IndexSettings;
  /** Where the model is that makes the vectors; undefined: the embedding that came with us does. */
  readonly onnx: LocalModelPlace | undefined;
}

export type IndexThreadEvent =
  | { readonly progress: IndexProgress }
  /** May be about something that happened before the call. */
  | { readonly warning: string };

/** Every call brings the settings of the moment. */
type Method<Takes extends object, Gives> = {
  readonly takes: Takes & { readonly settings: IndexSettings };
  readonly gives: Gives;
  readonly tells: IndexThreadEvent;
};

export type IndexThreadMethods = {
  readonly index: Method<{ readonly force: boolean }, IndexReport>;
  readonly search: Method<{ readonly request: SearchRequest }, Answer<readonly Snippet[]>>;
  readonly stats: Method<object, IndexStats>;
  readonly whereUsed: Method<
    { readonly symbol: string; readonly options: UsageOptions | undefined },
    Answer<Usages>
  >;
  readonly lineage: Method<
    { readonly symbol: string; readonly options: LineageOptions | undefined },
    Answer<Lineage>
  >;
  readonly inspect: Method<{ readonly word: string }, Answer<Inspection>>;
};

serveThread<IndexThreadMethods>((data: IndexThreadData) => {
  let settings = data.settings;
  const warnings: string[] = [];
  const retrieval = createLocalRetrieval({
    workspace: data.workspace,
    userState: data.userState,
    settings: () => settings,
    onWarning: (message) => void warnings.push(message),
    model: data.onnx && createOnnxModel(data.onnx, settings.threads),
  });

  const during = async <T>(
    now: IndexSettings,
    tell: (event: IndexThreadEvent) => void,
    work: () => Promise<T>,
  ): Promise<T> => {
    settings = now;
    try {
      return await work();
    } finally {
      for (const warning of warnings.splice(0)) tell({ warning });
    }
  };

  return {
    handlers: {
      index: ({ settings: now, force }, { signal, tell }) =>
        during(now, tell, () => retrieval.index({ force }, signal, (progress) => tell({ progress }))),
      search: ({ settings: now, request }, { signal, tell }) =>
        during(now, tell, () => retrieval.search(request, signal)),
      stats: ({ settings: now }, { signal, tell }) => during(now, tell, () => retrieval.stats(signal)),
      whereUsed: ({ settings: now, symbol, options }, { signal, tell }) =>
        during(now, tell, () => retrieval.whereUsed(symbol, options, signal)),
      lineage: ({ settings: now, symbol, options }, { signal, tell }) =>
        during(now, tell, () => retrieval.lineage(symbol, options, signal)),
      inspect: ({ settings: now, word }, { signal, tell }) =>
        during(now, tell, () => retrieval.inspect(word, signal)),
    },
    close: retrieval.close,
  };
});
