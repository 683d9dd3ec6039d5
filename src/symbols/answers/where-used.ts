import type { Table } from "../project/table.ts";
import type { Resolver } from "../resolve/resolver.ts";
import type { UseFinder } from "../resolve/uses.ts";
import type { SymbolAt, UsageOptions, Usages, Use } from "./answers.ts";
import { describeFile, type FileLink, type FileLinks, findFile } from "./files.ts";
import { describe, findSymbols } from "./find-symbols.ts";
import { DEFAULT_CONFIDENCE, type FindMentions, NO_MENTIONS, nameIn } from "./mentions.ts";
import { suggest } from "./suggest.ts";

const DEFAULT_LIMIT = 200;
/** A name with more definitions than this (`get`, `constructor`) is answered for the likeliest ones. */
const MAX_DEFINITIONS = 20;

/** A file is used where it is imported. */
const importsAsUses = (importers: readonly FileLink[]): readonly Use[] =>
  importers.flatMap(({ file, lines }) =>
    lines.map((line) => ({
      path: file.path,
      line,
      kind: "import" as const,
      inside: "",
      confidence: 1,
      definition: 0,
    })),
  );

export const createWhereUsed =
  (table: Table, resolver: Resolver, finder: UseFinder, links: FileLinks, mentionsOf: FindMentions) =>
  (query: string, options: UsageOptions = {}): Usages => {
    const limit = Math.max(0, options.limit ?? DEFAULT_LIMIT);
    const asked = findFile(table, query);
    if (asked !== undefined) {
      const uses = importsAsUses(links.importersOf(asked));
      return {
        definitions: [describeFile(asked)],
        uses: uses.slice(0, limit),
        total: uses.length,
        mentions: NO_MENTIONS,
        suggestions: [],
      };
    }
    const found = findSymbols(table, query);
    const definitions: SymbolAt[] = [];
    const uses: Use[] = [];
    const seen = new Map<number, number>();
    for (const symbol of found.slice(0, MAX_DEFINITIONS)) {
      const at = describe(table, symbol);
      if (at === undefined) continue;
      definitions.push(at);
      const key = resolver.oneOf(symbol);
      if (seen.has(key)) continue;
      seen.set(key, definitions.length - 1);
      for (const { file, line, kind, inside, confidence } of finder.usesOf(symbol))
        if (confidence >= DEFAULT_CONFIDENCE)
          uses.push({
            path: file.path,
            line,
            kind,
            inside: file.definitions[inside]?.qualified ?? "",
            confidence,
            definition: definitions.length - 1,
          });
    }
    const name = definitions[0]?.name ?? nameIn(query);
    return {
      definitions,
      uses: uses.slice(0, limit),
      total: uses.length,
      mentions: mentionsOf(name, found, uses),
      suggestions: found.length > 0 ? [] : suggest(table, query),
    };
  };
