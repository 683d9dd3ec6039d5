import type { GraphStats, SymbolAt } from "./answers/answers.ts";
import { createCentrality } from "./answers/centrality.ts";
import { createExampleMeaning, rarityOf } from "./answers/example.ts";
import { createFileLinks } from "./answers/files.ts";
import { describe, findSymbols } from "./answers/find-symbols.ts";
import { createInspect } from "./answers/inspect.ts";
import { createLineage } from "./answers/lineage.ts";
import { createMentions } from "./answers/mentions.ts";
import { createWhereUsed } from "./answers/where-used.ts";
import type { FileSymbols } from "./extract/file-symbols.ts";
import { unpackSymbols } from "./extract/pack.ts";
import { familyOf, isConfigFile } from "./languages/all.ts";
import { createConfigFiles } from "./project/config-files.ts";
import { STRIDE } from "./project/references.ts";
import { createTable } from "./project/table.ts";
import { createResolver } from "./resolve/resolver.ts";
import { createUseFinder } from "./resolve/uses.ts";

export type { GraphStats, Inspection, Mentions, SymbolAt, SymbolCard } from "./answers/answers.ts";
export type { Reached } from "./answers/example.ts";

export interface GraphSources {
  /** Text of a file of the workspace for which `isConfigFile` holds. */
  readonly readConfig?: (path: string) => string | undefined;
  /** Text of an indexed file: signatures and comments of `inspect` come from it. */
  readonly readText?: (path: string) => string | undefined;
  /** Paths of files of code whose text may have a name as a word; left out: all files of the graph. */
  readonly filesWith?: (name: string) => readonly string[];
}

/**
 * Which definitions refer to which, over all files of a project. Nothing is resolved before a question needs it, and what
 * was resolved is cached until the next `put` or `remove`; so the order of changes cannot matter.
 */
export const createGraph = ({ readConfig, readText = () => undefined, filesWith }: GraphSources = {}) => {
  const table = createTable();
  const config = createConfigFiles(readConfig ?? (() => undefined));
  const resolver = createResolver(table, config);
  const finder = createUseFinder(table, resolver);
  const links = createFileLinks(table, resolver);
  const allFiles = (): readonly string[] => [...table.files.values()].map(({ path }) => path).sort();
  const mentionsOf = createMentions(table, finder, { readText, filesWith: filesWith ?? allFiles });
  const changed = (path: string): void => {
    if (isConfigFile(path)) config.forget();
  };
  return {
    /** Packed symbols are unpacked. A file that was put before is replaced. */
    put: (path: string, language: string, symbols: FileSymbols | Uint8Array): void => {
      changed(path);
      table.put(
        path,
        language,
        familyOf(language),
        symbols instanceof Uint8Array ? unpackSymbols(symbols) : symbols,
      );
    },
    remove: (path: string): void => {
      changed(path);
      table.remove(path);
    },
    /** A name, a qualified name (`Store.open`), `path:line`, or the path of a file, which is used where it is imported. */
    whereUsed: createWhereUsed(table, resolver, finder, links, mentionsOf),
    lineage: createLineage(table, resolver, finder, links, mentionsOf),
    inspect: createInspect(table, resolver, finder, links, readText, mentionsOf),
    /** What a piece of code that is no part of the project means in it, and what that calls. */
    meaningOf: createExampleMeaning(table, resolver, finder),
    /** Definitions that a name may mean, plain or qualified, the likeliest first. */
    definitionsOf: (name: string, limit: number): readonly SymbolAt[] =>
      findSymbols(table, name)
        .slice(0, limit)
        .flatMap((id) => describe(table, id) ?? []),
    /** Paths of the files of the project that a file imports. */
    importsOf: (path: string): readonly string[] => {
      const file = table.byPath(path);
      return file === undefined ? [] : links.importsOf(file).map((link) => link.file.path);
    },
    /** 0 where every file of the project has the name, 1 where none does. */
    rarityOf: (name: string): number => rarityOf(table, name),
    /** How much of the project depends on each file, from 0 to 1 for the most used file. */
    centrality: createCentrality(table, resolver.names),
    stats: (): GraphStats => {
      const languages: Record<string, number> = {};
      const counts = { files: 0, definitions: 0, references: 0, imports: 0 };
      for (const file of table.files.values()) {
        languages[file.language] = (languages[file.language] ?? 0) + 1;
        counts.files++;
        counts.definitions += file.definitions.length;
        counts.references += file.references.length / STRIDE;
        counts.imports += file.imports.length;
      }
      return { ...counts, languages };
    },
  };
};

export type Graph = ReturnType<typeof createGraph>;
