import type { ReferenceKind } from "../extract/file-symbols.ts";
import { fileOf, type SymbolId, symbolId, type Table } from "../project/table.ts";
import type { Resolver } from "../resolve/resolver.ts";
import type { UsedSymbol, UseFinder } from "../resolve/uses.ts";

export const CALLS: ReadonlySet<ReferenceKind> = new Set(["call", "decorate"]);

/** Whoever reads a function hands it on: `target.call(…)`, `target.bind(…)`, `list.map(target)`. */
const CALLS_AND_READS: ReadonlySet<ReferenceKind> = new Set([...CALLS, "read"]);

const isEdge = (table: Table, kind: ReferenceKind, target: SymbolId): boolean => {
  if (CALLS.has(kind)) return true;
  const { kind: defined = "variable" } = table.definition(target) ?? {};
  return kind === "read" && (defined === "function" || defined === "method");
};

/** The definition that answers show: what a property holds belongs to what is around it. */
const shownAround = (table: Table, symbol: SymbolId): SymbolId | undefined => {
  for (let at = symbol; ; ) {
    const definition = table.definition(at);
    if (definition?.kind !== "alias") return definition === undefined ? undefined : at;
    if (definition.parent < 0) return undefined;
    at = symbolId(fileOf(at), definition.parent);
  }
};

/** Who calls whom, or hands it on to be called. */
export const createCallEdges = (table: Table, resolver: Resolver, finder: UseFinder) => ({
  callersOf: (symbol: SymbolId): readonly UsedSymbol[] =>
    finder.usesOf(symbol).flatMap(({ file, line, kind, inside, confidence }) => {
      if (inside < 0 || !isEdge(table, kind, symbol)) return [];
      const caller = shownAround(table, symbolId(file.id, inside));
      return caller === undefined ? [] : [{ symbol: caller, line, kind, confidence }];
    }),
  calleesOf: (symbol: SymbolId): readonly UsedSymbol[] =>
    resolver
      .sameAs(symbol)
      .flatMap((twin) => finder.usedBy(twin, CALLS_AND_READS))
      .filter(({ symbol: callee, kind }) => isEdge(table, kind, callee)),
});
