import { withHint } from "../../base/error.ts";
import { compileDenylist } from "../../policy/denylist.ts";
import { judgeReal, judgeWritten, type PathRefusal, pathDenied, resolveWords } from "../../policy/paths.ts";
import { stopIfAborted } from "../stop-if-aborted.ts";
import { explainFailure, type Surroundings, translate } from "./explain-failure.ts";
import { canLocateByDescriptor, createLocateByDescriptor } from "./locate-by-descriptor.ts";
import { locateByName } from "./locate-by-name.ts";
import type { Locate, Located } from "./located.ts";
import { cacheByList, createPathRules } from "./path-rules.ts";

export interface AccessOptions {
  readonly workspace: string;
  /** As configured: relative to the workspace or absolute. Asked on every call, since configuration is hot. */
  readonly roots: () => readonly string[];
  /** Globs of names whose content is withheld. Asked on every call. */
  readonly denylist: () => readonly string[];
  /** What the operator could still do about a path outside the roots, in one sentence. */
  readonly outsideHint?: (path: string) => string | undefined;
  /** Left out: the best way this machine has. */
  readonly locate?: Locate;
}

/** The only way to read anything: what `use` gets was judged, and is held by a descriptor until it is done. */
export type Access = <T>(
  words: string,
  signal: AbortSignal | undefined,
  use: (located: Located, around: Surroundings) => T | Promise<T>,
) => Promise<T>;

export const createAccess = (options: AccessOptions): Access => {
  const currentRules = createPathRules(options.workspace, options.roots);
  const currentDenylist = cacheByList(options.denylist, compileDenylist);
  const locate = options.locate ?? (canLocateByDescriptor() ? createLocateByDescriptor() : locateByName);

  const look = (): Surroundings => {
    const rules = currentRules();
    const denies = currentDenylist();
    const bases = [rules.workspace, ...rules.roots];
    return { rules, locate, isWithheld: (realPath) => denies(realPath, bases) };
  };

  return async (words, signal, use) => {
    stopIfAborted(signal);
    const around = look();
    const { rules } = around;
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
