import type { ConfigFiles } from "../project/config-files.ts";
import type { Family, FileRecord } from "../project/family.ts";
import type { ReferenceRow } from "../project/references.ts";
import { attachedTo, isType } from "../project/shape.ts";
import { fileOf, type SymbolId, symbolId, type Table } from "../project/table.ts";
import { isTestFile } from "../project/test-files.ts";
import { createNames, type Names } from "./names.ts";
import { symbolsOf } from "./types.ts";
import { createValues, type Values } from "./values.ts";

/** Scopes and imports decide. */
const CERTAIN = 1;
/** The type of the receiver decides; the value may be of a subclass. */
const BY_TYPE = 0.9;
/** One definition in the whole project has the name, and the language lets any file use it. */
const ONLY_ONE = 0.7;
/** One member in the whole project has the name; nothing is known of the receiver. */
const BY_NAME = 0.5;
/** Several have it. */
const AMBIGUOUS = 0.3;

/** A name that more members have says nothing. */
const MAX_CANDIDATES = 12;

export interface Resolved {
  readonly symbols: readonly SymbolId[];
  readonly confidence: number;
}

const NOTHING: Resolved = { symbols: [], confidence: 0 };

/** Members that standard libraries have too: the name alone says nothing about such a call. */
const COMMON = new Set(
  (
    "add all any append apply at call catch clear close concat contains copy count create data default delete description done " +
    "each empty end entries equals error every exec exists extend fail filter find first flush forEach format from get getItem " +
    "hasNext has hash hashCode id includes index indexOf init insert invoke isEmpty items iterator join key keys kind last length " +
    "line list load log main map match max merge message min name next none ok on open parse path peek pop pos push put read " +
    "reduce remove replace request reset response result return reverse run save search send set setItem shift size slice some " +
    "sort source split start state status stop string sub sum test text then throw toJSON toString trim type unshift update url " +
    "value valueOf values version wait warn with write lower upper strip encode decode group setdefault startswith endswith " +
    "splitlines readline readlines fileno isatty popitem"
  ).split(" "),
);

interface State {
  readonly table: Table;
  readonly names: Names;
  readonly values: Values;
  /** By family and name, of one generation of the table: for each symbol, those that are one with it. */
  readonly groups: Map<string, ReadonlyMap<SymbolId, readonly SymbolId[]>>;
  generation: number;
}

const ofFamily = ({ table }: State, name: string, family: Family): readonly SymbolId[] =>
  table.named.get(name).filter((id) => table.file(fileOf(id))?.family === family);

const groupsOf = (state: State, name: string, family: Family): ReadonlyMap<SymbolId, readonly SymbolId[]> => {
  const { table, groups } = state;
  if (state.generation !== table.generation) groups.clear();
  state.generation = table.generation;
  const key = `${family.name} ${name}`;
  const known = groups.get(key);
  if (known !== undefined) return known;
  const byKey = new Map<string, SymbolId[]>();
  const found = new Map<SymbolId, readonly SymbolId[]>();
  for (const id of ofFamily(state, name, family)) {
    const definition = table.definition(id);
    if (definition === undefined) continue;
    const spansFiles =
      family.declaresAcrossFiles === true && definition.exported && definition.kind !== "field";
    const group = `${spansFiles ? "" : fileOf(id)} ${definition.qualified}`;
    const twins = byKey.get(group) ?? [];
    twins.push(id);
    byKey.set(group, twins);
    found.set(id, twins);
  }
  groups.set(key, found);
  return found;
};

const sameAs = (state: State, symbol: SymbolId): readonly SymbolId[] => {
  const definition = state.table.definition(symbol);
  const file = state.table.file(fileOf(symbol));
  if (definition === undefined || file === undefined) return [symbol];
  return groupsOf(state, definition.name, file.family).get(symbol) ?? [symbol];
};

const oneOf = (state: State, symbol: SymbolId): SymbolId => sameAs(state, symbol)[0] ?? symbol;

const isOneSymbol = (state: State, symbols: readonly SymbolId[]): boolean =>
  new Set(symbols.map((id) => oneOf(state, id))).size === 1;

const nearest = (state: State, file: FileRecord, symbols: readonly SymbolId[]): Resolved => {
  const beside = symbols.filter((id) => state.table.file(fileOf(id))?.folder === file.folder);
  return isOneSymbol(state, beside)
    ? { symbols: beside, confidence: BY_NAME }
    : { symbols, confidence: AMBIGUOUS };
};

/** What a test defines, such as a stub of a platform's object, says nothing about a value that is unknown. */
const isInTest = ({ table }: State, id: SymbolId): boolean => {
  const holder = table.file(fileOf(id));
  return holder !== undefined && isTestFile(holder);
};

const memberByName = (state: State, file: FileRecord, { name, kind }: ReferenceRow): Resolved => {
  const wanted = file.family.readsAreNoMethods === true && kind !== "call" ? /^field$/ : /^(?:method|field)$/;
  if (COMMON.has(name) || name.length < 3) return NOTHING;
  const members = ofFamily(state, name, file.family).filter((id) => {
    const definition = state.table.definition(id);
    return (
      definition !== undefined &&
      (definition.parent >= 0 || attachedTo(definition) !== "") &&
      wanted.test(definition.kind) &&
      !isInTest(state, id)
    );
  });
  if (members.length === 0) return heldByName(state, file, name, kind);
  if (members.length > MAX_CANDIDATES) return NOTHING;
  return { symbols: members, confidence: isOneSymbol(state, members) ? BY_NAME : AMBIGUOUS };
};

/** `app.addHook()` of an unknown `app`, where objects of the project hold one function under that name. */
const heldByName = (state: State, file: FileRecord, name: string, kind: ReferenceRow["kind"]): Resolved => {
  const holders = state.table.holding.get(name).filter((id) => !isInTest(state, id));
  if (kind !== "call" || holders.length > MAX_CANDIDATES) return NOTHING;
  const held = holders.flatMap((id) => {
    const parent = state.table.definition(id)?.parent ?? -1;
    const owner = { kind: "symbol" as const, id: symbolId(fileOf(id), parent) };
    if (parent < 0 || state.table.file(fileOf(id))?.family !== file.family) return [];
    return state.values.membersOf(owner, name) ?? [];
  });
  const isFunction = held.every((id) => state.table.definition(id)?.kind === "function");
  return isFunction && isOneSymbol(state, held) ? { symbols: held, confidence: BY_NAME } : NOTHING;
};

/** A member of the classes around a reference, which their code may name plainly. */
const inheritedName = (
  { table, values }: State,
  file: FileRecord,
  name: string,
  inside: number,
): readonly SymbolId[] => {
  if (file.family.membersNeedReceiver === true) return [];
  for (let around = values.classAround(file, inside); around !== undefined; ) {
    const inherited = values.memberOfType(around, name);
    if (inherited.length > 0) return inherited;
    const outer = table.definition(around)?.parent ?? -1;
    around = fileOf(around) === file.id && outer >= 0 ? values.classAround(file, outer) : undefined;
  }
  return [];
};

const plainName = (state: State, file: FileRecord, reference: ReferenceRow): Resolved => {
  const { name, inside } = reference;
  const found = state.names.lookup(file, name);
  if (found === "foreign") return NOTHING;
  const symbols = symbolsOf(found);
  if (symbols.length > 0) return { symbols, confidence: CERTAIN };
  const { reach } = file.family;
  if (found.length > 0 || reach === "file") return NOTHING;
  const inherited = inheritedName(state, file, name, inside);
  if (inherited.length > 0) return { symbols: inherited, confidence: BY_TYPE };
  if (reach !== "project") return NOTHING;
  const all = ofFamily(state, name, file.family).filter((id) => {
    const definition = state.table.definition(id);
    return (
      definition !== undefined &&
      (definition.parent < 0 || isType(definition)) &&
      attachedTo(definition) === "" &&
      definition.exported
    );
  });
  if (all.length === 0)
    return file.family.callsMembersPlainly === true ? memberByName(state, file, reference) : NOTHING;
  return isOneSymbol(state, all) ? { symbols: all, confidence: ONLY_ONE } : nearest(state, file, all);
};

const resolve = (state: State, file: FileRecord, reference: ReferenceRow): Resolved => {
  if (reference.target >= 0) return { symbols: [symbolId(file.id, reference.target)], confidence: CERTAIN };
  if (reference.via === "") return plainName(state, file, reference);
  const value = state.values.evaluate(file, reference.via, reference.inside);
  const found = state.values.membersOf(value, reference.name);
  if (found === undefined)
    return file.family.ignoresNamespaces === true && /^\w+$/.test(reference.via)
      ? plainName(state, file, reference)
      : memberByName(state, file, reference);
  if (found.length === 0) return NOTHING;
  return { symbols: found, confidence: value.kind === "module" ? CERTAIN : BY_TYPE };
};

export const createResolver = (table: Table, config: ConfigFiles) => {
  const names: Names = createNames(
    table,
    config,
    (id, name) => values.membersOf({ kind: "symbol", id }, name) ?? [],
  );
  const values: Values = createValues(table, names);
  const state: State = { table, names, values, groups: new Map(), generation: -1 };
  return {
    names,
    values,
    /** All definitions that are one symbol to whoever uses it: overloads, merged declarations, prototype and body. */
    sameAs: (symbol: SymbolId): readonly SymbolId[] => sameAs(state, symbol),
    /** The one of them that represents all. */
    oneOf: (symbol: SymbolId): SymbolId => oneOf(state, symbol),
    resolve: (file: FileRecord, reference: ReferenceRow): Resolved => resolve(state, file, reference),
  };
};

export type Resolver = ReturnType<typeof createResolver>;
