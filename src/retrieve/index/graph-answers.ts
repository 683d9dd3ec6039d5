import { createGraph, type Graph } from "../../symbols/graph.ts";
import type { CurrentLines } from "./current-lines.ts";
import { createGraphConfigs } from "./graph-configs.ts";
import type { Indexer } from "./indexer.ts";
import type { LoadedIndex } from "./loaded-index.ts";
import type { Store } from "./store.ts";

/** Asks the symbol graph, which is loaded with the first question and then kept up to date. */
export type AskGraph = <T>(question: (graph: Graph) => T, signal: AbortSignal | undefined) => Promise<T>;

export interface GraphAnswers {
  /** Every file that the answer names is compared with the disk first. */
  readonly ask: AskGraph;
  /** For callers who look at the disk themselves; no texts are read. */
  readonly askIndexed: AskGraph;
}

export interface GraphParts {
  readonly store: Store;
  readonly loaded: LoadedIndex;
  readonly indexer: Indexer;
  readonly lines: CurrentLines;
}

/** One round may find files that have changed, another the texts that the answer needs. */
const MAX_ROUNDS = 4;

/** Everywhere in an answer, the path of a file has the key `path`. */
const pathsIn = (value: unknown, found: Set<string> = new Set()): Set<string> => {
  if (Array.isArray(value)) for (const item of value) pathsIn(item, found);
  else if (typeof value === "object" && value !== null)
    for (const [key, inner] of Object.entries(value)) {
      if (key === "path" && typeof inner === "string") found.add(inner);
      else pathsIn(inner, found);
    }
  return found;
};

export const createGraphAnswers = ({ store, loaded, indexer, lines }: GraphParts): GraphAnswers => {
  const configs = createGraphConfigs(loaded, lines);
  const dirty = new Set<string>();
  // For the current question: a question is answered synchronously, so two of them never overlap.
  let texts: ReadonlyMap<string, string> = new Map();
  let missing = new Set<string>();
  let graph: Graph | undefined;
  loaded.onChange((path) => {
    if (path === undefined) graph = undefined;
    else if (graph !== undefined) dirty.add(path);
  });

  const readText = (path: string): string | undefined => {
    const text = texts.get(path);
    if (text === undefined && loaded.files.has(path)) missing.add(path);
    return text;
  };

  /** The text of a file, where it is still the indexed one. */
  const textOf = async (path: string, signal: AbortSignal | undefined): Promise<string | undefined> =>
    (await lines.read(path, loaded.files.get(path)?.hash ?? "", signal))?.join("\n");

  const upToDate = async (signal: AbortSignal | undefined): Promise<Graph> => {
    if (graph === undefined) {
      await configs.refresh(loaded.files.keys(), signal);
      dirty.clear();
      const made = createGraph({
        readConfig: configs.read,
        readText,
        filesWith: (name) => loaded.chunks.codeFilesWith(name),
      });
      store.symbols((path, language, packed) => made.put(path, language, packed));
      graph = made;
    }
    const current = graph;
    const changed = [...dirty];
    await configs.refresh(changed, signal);
    for (const path of changed) {
      dirty.delete(path);
      const found = store.symbolsOf(path);
      if (found === undefined) current.remove(path);
      else current.put(path, found.language, found.packed);
    }
    return current;
  };

  const staleOf = async (paths: Iterable<string>, signal: AbortSignal | undefined): Promise<string[]> => {
    const stale: string[] = [];
    for (const path of paths) {
      const known = loaded.files.get(path);
      if (known === undefined || !(await lines.isCurrent(path, known, signal))) stale.push(path);
    }
    return stale;
  };

  const ask: AskGraph = async (question, signal) => {
    const own = new Map<string, string>();
    for (let round = 1; ; round++) {
      const current = await upToDate(signal);
      texts = own;
      missing = new Set();
      const value = question(current);
      const wanted = missing;
      const stale = await staleOf(pathsIn(value), signal);
      if (round === MAX_ROUNDS || (stale.length === 0 && wanted.size === 0)) return value;
      if (stale.length > 0) await indexer.refresh(stale, signal);
      for (const path of stale) own.delete(path);
      for (const path of wanted) own.set(path, (await textOf(path, signal)) ?? "");
    }
  };

  return { ask, askIndexed: async (question, signal) => question(await upToDate(signal)) };
};
