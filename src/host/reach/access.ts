import { withHint } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { judgeReal, judgeWritten, type PathRefusal, pathDenied, resolveWords } from "../../policy/paths.ts";
import { createReach, type ReachOptions, type Surroundings } from "../reach/reach.ts";
import { explainFailure, translate } from "./explain-failure.ts";
import type { Located } from "./located.ts";

/** The only way to read anything: what `use` gets was judged, and is held by a descriptor until it is done. */
export type Access = <T>(
  words: string,
  signal: AbortSignal | undefined,
  use: (located: Located, around: Surroundings) => T | Promise<T>,
) => Promise<T>;

export const createAccess = (options: ReachOptions): Access => {
  const currentReach = createReach(options);

  return async (words, signal, use) => {
    stopIfAborted(signal);
    const around = currentReach();
    const { rules, locate } = around;
    const path = resolveWords(words, rules.workspace);
    const deny = (reason: PathRefusal | undefined): void => {
      if (reason === undefined) return;
      const hint = reason === "outside" ? options.outsideHint?.(path) : undefined;
      throw withHint(pathDenied(words, reason, rules), hint);
    };
    deny(judgeWritten(path, rules));
    const judge = (realPath: string): void => deny(judgeReal(realPath, rules));
    const located = await locate(path, judge).catch(async (error: unknown) => {
      throw await explainFailure(error, words, path, around);
    });
    try {
      stopIfAborted(signal);
      if (!located.stats.isFile() && !located.stats.isDirectory()) throw pathDenied(words, "kind", rules);
      return await use(located, around);
    } catch (error) {
      throw translate(error, words);
    } finally {
      located.close();
    }
  };
};
