import type { LocalModelSetting } from "../host/os/local-model.ts";
import { serveThread } from "../host/threads/serve-thread.ts";
import { handlersOf, type RemoteMethods } from "../host/threads/thread-proxy.ts";
import { createOnnxModel } from "./embed/onnx-model.ts";
import type { IndexSettings } from "./index/settings.ts";
import { createLocalRetrieval } from "./local-retrieval.ts";

/** What the index thread is given at its start. */
export interface IndexThreadData {
  readonly workspace: string;
  readonly userState: string;
  readonly settings: IndexSettings;
  /** Where the model is that computes the vectors; undefined: the built-in embedding does. */
  readonly onnx: LocalModelSetting | undefined;
}

/** Every call brings the current settings; events are warnings. */
export type IndexThreadMethods = RemoteMethods<IndexSettings, string>;

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
  const { close, ...methods } = retrieval;
  const useSettings = (current: IndexSettings): void => {
    settings = current;
  };
  return { handlers: handlersOf(methods, useSettings, () => warnings.splice(0)), close };
});
