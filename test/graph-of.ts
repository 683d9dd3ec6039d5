import type { FileSymbols } from "../src/symbols/extract/file-symbols.ts";
import { extractSymbols } from "../src/symbols/extract-symbols.ts";
import { createGraph, type Graph } from "../src/symbols/graph.ts";
import { languageOf } from "../src/syntax/languages.ts";
import { createParsers, PARSER_LIMITS } from "../src/syntax/parsers.ts";

export type SourceTexts = Readonly<Record<string, string>>;

let parsers: ReturnType<typeof createParsers> | undefined;

/** What a text says about symbols, read as a file of that name. */
export const symbolsOf = async (path: string, text: string): Promise<FileSymbols> => {
  parsers ??= createParsers({ ...PARSER_LIMITS, timeoutMs: 60_000 });
  const language = languageOf(path, text);
  if (language.grammar === undefined) throw new Error(`No grammar reads ${path}.`);
  const { tree, reason } = await (await parsers).parse(language.grammar, text);
  if (tree === undefined) throw new Error(reason);
  try {
    return extractSymbols(tree, language, text);
  } finally {
    tree.delete();
  }
};

const CONFIG = /(?:\.json|\.toml|\.mod)$/;

/** The graph of some files; those that configure a project are only read on demand. */
export const graphOf = async (files: SourceTexts): Promise<Graph> => {
  const graph = createGraph({ readConfig: (path) => files[path], readText: (path) => files[path] });
  for (const [path, text] of Object.entries(files))
    if (!CONFIG.test(path)) graph.put(path, languageOf(path, text).id, await symbolsOf(path, text));
  return graph;
};

/** `path:line` of each use, in order. */
export const usesOf = (graph: Graph, symbol: string): readonly string[] => [
  ...new Set(graph.whereUsed(symbol).uses.map(({ path, line }) => `${path}:${line}`)),
];
