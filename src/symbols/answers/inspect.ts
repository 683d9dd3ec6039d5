import type { FileRecord } from "../project/family.ts";
import { isType, shapeOf } from "../project/shape.ts";
import { definitionOf, fileOf, type SymbolId, symbolId, type Table } from "../project/table.ts";
import { isTestFile } from "../project/test-files.ts";
import type { Resolver } from "../resolve/resolver.ts";
import type { FoundUse, UseFinder } from "../resolve/uses.ts";
import type { FileCard, Inspection, InspectOptions, Neighbour, SymbolAt, SymbolCard } from "./answers.ts";
import { createCallEdges } from "./call-edges.ts";
import { type FileLinks, findFile } from "./files.ts";
import { describe, findSymbols } from "./find-symbols.ts";
import { DEFAULT_CONFIDENCE, type FindMentions, NO_MENTIONS, nameIn } from "./mentions.ts";
import { docOf, signatureOf } from "./source-text.ts";
import { suggest } from "./suggest.ts";

/** Symbols of one query that are described in full. */
const MAX_CARDS = 3;
const MAX_NEIGHBOURS = 20;
const MAX_CANDIDATES = 50;

export type ReadText = (path: string) => string | undefined;

const definitionsAround = (uses: readonly FoundUse[]): readonly { symbol: SymbolId; confidence: number }[] =>
  uses.flatMap(({ file, inside, confidence }) =>
    inside < 0 ? [] : [{ symbol: symbolId(file.id, inside), confidence }],
  );

const membersOf = (table: Table, symbol: SymbolId): readonly SymbolAt[] => {
  const file = table.file(fileOf(symbol));
  if (file === undefined) return [];
  const own = [...(shapeOf(file).members.get(definitionOf(symbol))?.values() ?? [])].flat();
  return own
    .sort((a, b) => a - b)
    .map((index) => describe(table, symbolId(file.id, index)))
    .filter((at): at is SymbolAt => at !== undefined && at.kind !== "alias");
};

/** What a file defines and imports, and which files import it. */
const createFileCard =
  (table: Table, { names }: Resolver, links: FileLinks) =>
  (file: FileRecord): FileCard => {
    const importers = links
      .importersOf(file)
      .map((other) => ({ path: other.file.path, isTest: isTestFile(other.file) }));
    const packages = file.imports.flatMap(({ source }) =>
      source === "" || names.filesOf(file, source).length > 0 ? [] : [source],
    );
    return {
      path: file.path,
      language: file.language,
      definitions: file.definitions
        .map((_, index) => describe(table, symbolId(file.id, index)))
        .filter((at): at is SymbolAt => at !== undefined && at.kind !== "alias"),
      imports: links.importsOf(file).map((link) => link.file.path),
      importedBy: importers.filter(({ isTest }) => !isTest).map(({ path }) => path),
      packages: [...new Set(packages)],
      tests: importers.filter(({ isTest }) => isTest).map(({ path }) => path),
    };
  };

export const createInspect = (
  table: Table,
  resolver: Resolver,
  finder: UseFinder,
  links: FileLinks,
  readText: ReadText,
  mentionsOf: FindMentions,
) => {
  const edges = createCallEdges(table, resolver, finder);
  const neighbours = (
    found: readonly { readonly symbol: SymbolId; readonly confidence: number }[],
  ): readonly Neighbour[] => {
    const best = new Map<SymbolId, Neighbour>();
    for (const { symbol, confidence } of found) {
      const key = resolver.oneOf(symbol);
      const at = describe(table, symbol);
      if (at === undefined || confidence < DEFAULT_CONFIDENCE) continue;
      if ((best.get(key)?.confidence ?? 0) < confidence) best.set(key, { ...at, confidence });
    }
    return [...best.values()].slice(0, MAX_NEIGHBOURS);
  };

  const cardOf = (symbol: SymbolId, withMentions: boolean): SymbolCard | undefined => {
    const definition = table.definition(symbol);
    const at = describe(table, symbol);
    const file = table.file(fileOf(symbol));
    if (definition === undefined || at === undefined || file === undefined) return undefined;
    const lines = readText(file.path)?.split("\n") ?? [];
    const uses = finder.usesOf(symbol).filter(({ confidence }) => confidence >= DEFAULT_CONFIDENCE);
    const tests = uses.filter((use) => isTestFile(use.file) && use.kind !== "import");
    return {
      definition: at,
      signature: lines.length === 0 ? "" : signatureOf(lines, definition),
      doc: lines.length === 0 ? "" : docOf(lines, definition, file.family.hasDocstrings === true),
      parents: isType(definition)
        ? neighbours(resolver.values.basesOf(symbol).map((base) => ({ symbol: base, confidence: 1 })))
        : [],
      children: neighbours(definitionsAround(uses.filter(({ kind }) => kind === "inherit"))),
      members: membersOf(table, symbol),
      callers: neighbours(edges.callersOf(symbol)),
      callees: neighbours(edges.calleesOf(symbol)),
      tests: tests.slice(0, MAX_NEIGHBOURS).map((use) => ({
        path: use.file.path,
        line: use.line,
        inside: use.file.definitions[use.inside]?.qualified ?? "",
      })),
      useCount: uses.length,
      mentions: withMentions
        ? mentionsOf(
            at.name,
            [symbol],
            uses.map((use) => ({ path: use.file.path, line: use.line })),
          )
        : NO_MENTIONS,
    };
  };

  const fileCard = createFileCard(table, resolver, links);

  return (query: string, { mentions = true }: InspectOptions = {}): Inspection => {
    const file = findFile(table, query);
    if (file !== undefined)
      return { symbols: [], candidates: [], file: fileCard(file), mentions: NO_MENTIONS, suggestions: [] };
    const found = findSymbols(table, query);
    const first = new Set(found.map((id) => resolver.oneOf(id)));
    const distinct = found.filter((id) => first.delete(resolver.oneOf(id)));
    return {
      symbols: distinct
        .slice(0, MAX_CARDS)
        .map((id) => cardOf(id, mentions))
        .filter((card) => card !== undefined),
      candidates: found
        .slice(0, MAX_CANDIDATES)
        .map((id) => describe(table, id))
        .filter((at) => at !== undefined),
      file: undefined,
      mentions: found.length > 0 || !mentions ? NO_MENTIONS : mentionsOf(nameIn(query), [], []),
      suggestions: found.length > 0 ? [] : suggest(table, query),
    };
  };
};
