import type { ReferenceKind } from "../extract/file-symbols.ts";
import type { FileRecord } from "../project/family.ts";
import { STRIDE } from "../project/references.ts";
import { fileOf, type SymbolId, type Table } from "../project/table.ts";
import type { Resolved, Resolver } from "./resolver.ts";

export interface FoundUse {
  readonly file: FileRecord;
  readonly line: number;
  readonly kind: ReferenceKind;
  /** Index of the definition around it; -1 at the top. */
  readonly inside: number;
  readonly confidence: number;
}

export interface UseFinder {
  /** All uses of a symbol, of whatever confidence, by path and line. */
  usesOf(symbol: SymbolId): readonly FoundUse[];
  /** What a definition refers to, its inner functions that have no name of their own included. */
  usedBy(symbol: SymbolId, kinds: ReadonlySet<ReferenceKind>): readonly UsedSymbol[];
}

export interface UsedSymbol {
  readonly symbol: SymbolId;
  readonly line: number;
  readonly confidence: number;
}

/** A symbol that is renamed at more stations than this is looked for under the first ones. */
const MAX_ALIASES = 64;
/** Symbols whose uses are kept. */
const MAX_CACHED = 2000;
/** Resolved references that are kept: some tens of megabytes. */
const MAX_RESOLVED = 200_000;

export const createUseFinder = (table: Table, resolver: Resolver): UseFinder => {
  const cache = new Map<SymbolId, readonly FoundUse[]>();
  let cachedAt = -1;

  const resolved = new Map<number, Map<number, Resolved>>();
  let resolvedCount = 0;

  const forgetOld = (): void => {
    if (cachedAt === table.generation) return;
    cachedAt = table.generation;
    cache.clear();
    resolved.clear();
    resolvedCount = 0;
  };

  /** A name with twenty definitions asks for the same references twenty times. */
  const resolve = (file: FileRecord, at: number): Resolved => {
    let ofFile = resolved.get(file.id);
    const known = ofFile?.get(at);
    if (known !== undefined) return known;
    if (ofFile === undefined || resolvedCount > MAX_RESOLVED) {
      if (resolvedCount > MAX_RESOLVED) {
        resolved.clear();
        resolvedCount = 0;
      }
      ofFile = new Map();
      resolved.set(file.id, ofFile);
    }
    const found = resolver.resolve(file, table.reference(file, at));
    ofFile.set(at, found);
    resolvedCount++;
    return found;
  };

  const overlaps = (
    found: readonly { readonly kind: string; readonly id?: SymbolId }[],
    group: ReadonlySet<SymbolId>,
  ): boolean => found.some(({ id }) => id !== undefined && group.has(id));

  /** Names under which the symbol is known anywhere, by renaming imports and exports. */
  const aliasesOf = (name: string, group: ReadonlySet<SymbolId>): ReadonlySet<string> => {
    const names = new Set([name]);
    for (const current of names) {
      if (names.size > MAX_ALIASES) break;
      for (const id of table.mentioning.get(current)) {
        const file = table.file(id);
        if (file === undefined) continue;
        for (const entry of file.imports) {
          if (
            entry.name !== current ||
            entry.local === current ||
            entry.local === "*" ||
            names.has(entry.local)
          )
            continue;
          const found = resolver.names.imported(file, entry);
          if (found !== "foreign" && overlaps(found, group)) names.add(entry.local);
        }
      }
    }
    return names;
  };

  const usesIn = (file: FileRecord, names: ReadonlySet<string>, group: ReadonlySet<SymbolId>): FoundUse[] => {
    const uses: FoundUse[] = [];
    const numbers = new Set([...names].map((name) => table.numberOf(name)));
    for (let at = 0; at < file.references.length; at += STRIDE) {
      if (!numbers.has(file.references[at] ?? -1)) continue;
      const reference = table.reference(file, at);
      const { symbols, confidence } = resolve(file, at);
      if (symbols.some((id) => group.has(id)))
        uses.push({ file, line: reference.line, kind: reference.kind, inside: reference.inside, confidence });
    }
    for (const entry of file.imports) {
      // `export { a as b }` is a reference already; `export default function a` is the definition itself.
      if (!names.has(entry.name) || entry.source === "") continue;
      const found = resolver.names.imported(file, entry);
      if (found !== "foreign" && overlaps(found, group))
        uses.push({ file, line: entry.line, kind: "import", inside: -1, confidence: 1 });
    }
    return uses;
  };

  return {
    usesOf: (symbol) => {
      forgetOld();
      const known = cache.get(symbol);
      if (known !== undefined) return known;
      const definition = table.definition(symbol);
      if (definition === undefined) return [];
      const group = new Set(resolver.sameAs(symbol));
      const names = aliasesOf(definition.name, group);
      const files = new Set([...names].flatMap((name) => table.mentioning.get(name)));
      const uses = [...files]
        .flatMap((id) => {
          const file = table.file(id);
          return file === undefined ? [] : usesIn(file, names, group);
        })
        .sort((a, b) =>
          a.file.path < b.file.path
            ? -1
            : a.file.path > b.file.path
              ? 1
              : a.line - b.line || (a.kind < b.kind ? -1 : 1),
        );
      if (cache.size > MAX_CACHED) cache.clear();
      cache.set(symbol, uses);
      return uses;
    },
    usedBy: (symbol, kinds) => {
      forgetOld();
      const file = table.file(fileOf(symbol));
      const definition = table.definition(symbol);
      if (file === undefined || definition === undefined) return [];
      const index = file.definitions.indexOf(definition);
      const isInside = (inside: number): boolean => {
        for (let at = inside; at >= 0; at = file.definitions[at]?.parent ?? -1) if (at === index) return true;
        return false;
      };
      const used: UsedSymbol[] = [];
      for (let at = 0; at < file.references.length; at += STRIDE) {
        const line = file.references[at + 2] ?? 0;
        if (
          line < definition.startLine ||
          line > definition.endLine ||
          !isInside(file.references[at + 3] ?? -1)
        )
          continue;
        const reference = table.reference(file, at);
        if (!kinds.has(reference.kind)) continue;
        const { symbols, confidence } = resolve(file, at);
        const [first] = symbols;
        if (first !== undefined) used.push({ symbol: first, line, confidence });
      }
      return used;
    },
  };
};
