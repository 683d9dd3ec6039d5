import type { Import, ReferenceKind } from "../extract/file-symbols.ts";
import type { FileRecord } from "../project/family.ts";
import { STRIDE } from "../project/references.ts";
import { definitionOf, fileOf, type SymbolId, symbolId, type Table } from "../project/table.ts";
import type { Resolved, Resolver } from "./resolver.ts";
import { symbolsOf } from "./types.ts";

export interface FoundUse {
  readonly file: FileRecord;
  readonly line: number;
  readonly kind: ReferenceKind;
  /** Index of the enclosing definition; -1 at the top level. */
  readonly inside: number;
  readonly confidence: number;
}

export interface UsedSymbol {
  readonly symbol: SymbolId;
  readonly line: number;
  readonly kind: ReferenceKind;
  readonly confidence: number;
}

/** Only this many names of a symbol are searched for. */
const MAX_ALIASES = 64;
/** Symbols whose uses are cached. */
const MAX_CACHED = 2000;
/** Resolved references that are cached: some tens of megabytes. */
const MAX_RESOLVED = 200_000;

interface State {
  readonly table: Table;
  readonly resolver: Resolver;
  readonly uses: Map<SymbolId, readonly FoundUse[]>;
  /** By file, then by the reference's index: a name with twenty definitions asks for the same references twenty times. */
  readonly resolved: Map<number, Map<number, Resolved>>;
  resolvedCount: number;
  generation: number;
}

const forgetOutdated = (state: State): void => {
  if (state.generation === state.table.generation) return;
  state.generation = state.table.generation;
  state.uses.clear();
  state.resolved.clear();
  state.resolvedCount = 0;
};

const resolve = (state: State, file: FileRecord, at: number): Resolved => {
  const known = state.resolved.get(file.id)?.get(at);
  if (known !== undefined) return known;
  if (state.resolvedCount > MAX_RESOLVED) {
    state.resolved.clear();
    state.resolvedCount = 0;
  }
  const ofFile = state.resolved.get(file.id) ?? new Map<number, Resolved>();
  state.resolved.set(file.id, ofFile);
  const found = state.resolver.resolve(file, state.table.reference(file, at));
  ofFile.set(at, found);
  state.resolvedCount++;
  return found;
};

const importsOneOf = (
  { resolver }: State,
  file: FileRecord,
  entry: Import,
  group: ReadonlySet<SymbolId>,
): boolean => symbolsOf(resolver.names.imported(file, entry)).some((id) => group.has(id));

/** Names under which the symbol is known anywhere, by renaming imports and exports. */
const aliasesOf = (state: State, name: string, group: ReadonlySet<SymbolId>): ReadonlySet<string> => {
  const names = new Set([name]);
  for (const current of names) {
    if (names.size > MAX_ALIASES) break;
    for (const id of state.table.renaming.get(current)) {
      const { name: given = "", parent = -1 } = state.table.definition(id) ?? {};
      const owner = { kind: "symbol" as const, id: symbolId(fileOf(id), parent) };
      const held = names.has(given) ? [] : (state.resolver.values.membersOf(owner, given) ?? []);
      if (held.some((one) => group.has(one))) names.add(given);
    }
    for (const local of wholeModuleNames(state, current, group)) names.add(local);
    for (const id of state.table.mentioning.get(current)) {
      const file = state.table.file(id);
      if (file === undefined) continue;
      for (const entry of file.imports) {
        const isRenamed = entry.name === current && entry.local !== current && entry.local !== "*";
        if (isRenamed && !names.has(entry.local) && importsOneOf(state, file, entry, group))
          names.add(entry.local);
      }
    }
  }
  return names;
};

/** What files call the one value of a module that they import: `const Store = require("./store")`. */
const wholeModuleNames = (state: State, name: string, group: ReadonlySet<SymbolId>): ReadonlySet<string> => {
  const names = new Set<string>();
  for (const id of state.table.mentioning.get("")) {
    const file = state.table.file(id);
    if (file === undefined || file.family.wholeModule !== name) continue;
    for (const entry of file.imports)
      if (entry.name === "" && !names.has(entry.local) && importsOneOf(state, file, entry, group))
        names.add(entry.local);
  }
  return names;
};

const usesIn = (
  state: State,
  file: FileRecord,
  names: ReadonlySet<string>,
  group: ReadonlySet<SymbolId>,
): FoundUse[] => {
  const uses: FoundUse[] = [];
  const numbers = new Set([...names].map((name) => state.table.numberOf(name)));
  for (let at = 0; at < file.references.length; at += STRIDE) {
    if (!numbers.has(file.references[at] ?? -1)) continue;
    const { line, kind, inside } = state.table.reference(file, at);
    const { symbols, confidence } = resolve(state, file, at);
    if (symbols.some((id) => group.has(id))) uses.push({ file, line, kind, inside, confidence });
  }
  for (const entry of file.imports) {
    // `export { a as b }` is a reference already; `export default function a` is the definition itself.
    const isNamed = names.has(entry.name) || (entry.name === "" && names.has(entry.local));
    if (isNamed && entry.source !== "" && importsOneOf(state, file, entry, group))
      uses.push({ file, line: entry.line, kind: "import", inside: -1, confidence: 1 });
  }
  return withoutRepeats(uses);
};

/** Some grammars name what is called twice, as a call and as a value: a line that does more than read it says so once. */
const withoutRepeats = (uses: FoundUse[]): FoundUse[] => {
  const reported = new Set(
    uses.flatMap(({ kind, line, inside }) => (kind === "read" ? [] : [`${line} ${inside}`])),
  );
  return uses.filter(({ kind, line, inside }) => kind !== "read" || !reported.has(`${line} ${inside}`));
};

const byPathAndLine = (a: FoundUse, b: FoundUse): number => {
  if (a.file.path !== b.file.path) return a.file.path < b.file.path ? -1 : 1;
  return a.line - b.line || (a.kind < b.kind ? -1 : 1);
};

const usesOf = (state: State, symbol: SymbolId): readonly FoundUse[] => {
  forgetOutdated(state);
  const known = state.uses.get(symbol);
  if (known !== undefined) return known;
  const definition = state.table.definition(symbol);
  if (definition === undefined) return [];
  const group = new Set(state.resolver.sameAs(symbol));
  const names = aliasesOf(state, definition.name, group);
  const files = new Set([...names].flatMap((name) => state.table.mentioning.get(name)));
  const uses = [...files]
    .flatMap((id) => {
      const file = state.table.file(id);
      return file === undefined ? [] : usesIn(state, file, names, group);
    })
    .sort(byPathAndLine);
  if (state.uses.size > MAX_CACHED) state.uses.clear();
  state.uses.set(symbol, uses);
  return uses;
};

const usedBy = (state: State, symbol: SymbolId, kinds: ReadonlySet<ReferenceKind>): readonly UsedSymbol[] => {
  forgetOutdated(state);
  const file = state.table.file(fileOf(symbol));
  const definition = state.table.definition(symbol);
  if (file === undefined || definition === undefined) return [];
  const index = definitionOf(symbol);
  const isInside = (inside: number): boolean => {
    for (let at = inside; at >= 0; at = file.definitions[at]?.parent ?? -1) if (at === index) return true;
    return false;
  };
  const used: UsedSymbol[] = [];
  for (let at = 0; at < file.references.length; at += STRIDE) {
    const line = file.references[at + 2] ?? 0;
    if (line < definition.startLine || line > definition.endLine) continue;
    if (!isInside(file.references[at + 3] ?? -1)) continue;
    const { kind } = state.table.reference(file, at);
    if (!kinds.has(kind)) continue;
    const { symbols, confidence } = resolve(state, file, at);
    const [first] = symbols;
    if (first !== undefined) used.push({ symbol: first, line, kind, confidence });
  }
  return used;
};

export const createUseFinder = (table: Table, resolver: Resolver) => {
  const state: State = {
    table,
    resolver,
    uses: new Map(),
    resolved: new Map(),
    resolvedCount: 0,
    generation: -1,
  };
  return {
    /** All uses of a symbol, of whatever confidence, by path and line. */
    usesOf: (symbol: SymbolId): readonly FoundUse[] => usesOf(state, symbol),
    /** What a definition and the unnamed functions inside it refer to. */
    usedBy: (symbol: SymbolId, kinds: ReadonlySet<ReferenceKind>): readonly UsedSymbol[] =>
      usedBy(state, symbol, kinds),
  };
};

export type UseFinder = ReturnType<typeof createUseFinder>;
