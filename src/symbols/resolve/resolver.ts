import type { ConfigFiles } from "../project/config-files.ts";
import type { Family, FileRecord } from "../project/family.ts";
import type { ReferenceRow } from "../project/references.ts";
import { attachedTo, isType } from "../project/shape.ts";
import { fileOf, type SymbolId, symbolId, type Table } from "../project/table.ts";
import { createNames, type Named, type Names } from "./names.ts";
import { createValues, type Values } from "./values.ts";

/** Scopes and imports decide. */
const CERTAIN = 1;
/** The type of the receiver decides; a value may be of a class below it. */
const BY_TYPE = 0.9;
/** One definition in the whole project has the name, and the language lets any file use it. */
const ONLY_ONE = 0.7;
/** One member in the whole project has the name; nothing is known of the receiver. */
const BY_NAME = 0.5;
/** Several have it. */
const AMBIGUOUS = 0.3;

export interface Resolved {
  readonly symbols: readonly SymbolId[];
  readonly confidence: number;
}

const NOTHING: Resolved = { symbols: [], confidence: 0 };

/** Members that the types of every language's own library have: by its name alone such a call says nothing. */
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

export interface Resolver {
  readonly names: Names;
  readonly values: Values;
  resolve(file: FileRecord, reference: ReferenceRow): Resolved;
  /** All definitions that are one symbol for whoever uses it: overloads, merged declarations, prototype and body. */
  sameAs(symbol: SymbolId): readonly SymbolId[];
  /** The one of them that stands for all. */
  oneOf(symbol: SymbolId): SymbolId;
}

export const createResolver = (table: Table, config: ConfigFiles): Resolver => {
  const names = createNames(table, config);
  const values = createValues(table, names);

  const symbolsOf = (found: readonly Named[]): readonly SymbolId[] =>
    found.flatMap((entry) => (entry.kind === "symbol" ? [entry.id] : []));

  const ofFamily = (name: string, family: Family): readonly SymbolId[] =>
    table.named.get(name).filter((id) => table.file(fileOf(id))?.family === family);

  const groups = new Map<string, ReadonlyMap<SymbolId, readonly SymbolId[]>>();
  let groupsAt = -1;

  /** All symbols of a name, by which of them are one. */
  const groupsOf = (name: string, family: Family): ReadonlyMap<SymbolId, readonly SymbolId[]> => {
    if (groupsAt !== table.generation) {
      groups.clear();
      groupsAt = table.generation;
    }
    const key = `${family.name} ${name}`;
    const known = groups.get(key);
    if (known !== undefined) return known;
    const byKey = new Map<string, SymbolId[]>();
    const found = new Map<SymbolId, readonly SymbolId[]>();
    for (const id of ofFamily(name, family)) {
      const definition = table.definition(id);
      if (definition === undefined) continue;
      // A header declares what a source file defines.
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

  const sameAs = (symbol: SymbolId): readonly SymbolId[] => {
    const definition = table.definition(symbol);
    const file = table.file(fileOf(symbol));
    if (definition === undefined || file === undefined) return [symbol];
    return groupsOf(definition.name, file.family).get(symbol) ?? [symbol];
  };

  const oneOf = (symbol: SymbolId): SymbolId => sameAs(symbol)[0] ?? symbol;

  /** How many different symbols these are. */
  const distinct = (symbols: readonly SymbolId[]): number => new Set(symbols.map(oneOf)).size;

  const plain = (file: FileRecord, { name, inside }: ReferenceRow): Resolved => {
    const found = names.lookup(file, name);
    if (found === "foreign") return NOTHING;
    const symbols = symbolsOf(found);
    if (symbols.length > 0) return { symbols, confidence: CERTAIN };
    if (found.length > 0) return NOTHING;
    const { reach } = file.family;
    if (reach === "file") return NOTHING;
    for (let around = values.classAround(file, inside); around !== undefined; ) {
      const inherited = values.memberOfType(around, name);
      if (inherited.length > 0) return { symbols: inherited, confidence: BY_TYPE };
      const outer = table.definition(around)?.parent ?? -1;
      around = fileOf(around) === file.id && outer >= 0 ? values.classAround(file, outer) : undefined;
    }
    if (reach !== "project") return NOTHING;
    const all = ofFamily(name, file.family).filter((id) => {
      const definition = table.definition(id);
      return (
        definition !== undefined &&
        (definition.parent < 0 || isType(definition)) &&
        attachedTo(definition) === "" &&
        definition.exported
      );
    });
    if (all.length === 0) return file.family.callsMembersPlainly === true ? byName(file, name) : NOTHING;
    return distinct(all) === 1 ? { symbols: all, confidence: ONLY_ONE } : nearest(file, all);
  };

  const nearest = (file: FileRecord, symbols: readonly SymbolId[]): Resolved => {
    const beside = symbols.filter((id) => table.file(fileOf(id))?.folder === file.folder);
    return beside.length > 0 && distinct(beside) === 1
      ? { symbols: beside, confidence: BY_NAME }
      : { symbols, confidence: AMBIGUOUS };
  };

  const byName = (file: FileRecord, name: string): Resolved => {
    if (COMMON.has(name) || name.length < 3) return NOTHING;
    const members = ofFamily(name, file.family).filter((id) => {
      const definition = table.definition(id);
      return (
        definition !== undefined &&
        (definition.parent >= 0 || attachedTo(definition) !== "") &&
        /^(?:method|field)$/.test(definition.kind)
      );
    });
    if (members.length === 0 || members.length > 12) return NOTHING;
    return { symbols: members, confidence: distinct(members) === 1 ? BY_NAME : AMBIGUOUS };
  };

  return {
    names,
    values,
    sameAs,
    oneOf,
    resolve: (file, reference) => {
      if (reference.target >= 0)
        return { symbols: [symbolId(file.id, reference.target)], confidence: CERTAIN };
      if (reference.via === "") return plain(file, reference);
      const value = values.evaluate(file, reference.via, reference.inside);
      const found = values.membersOf(value, reference.name);
      // `ns::open()`: namespaces are no symbols of the graph.
      if (found === undefined && file.family.ignoresNamespaces === true && /^\w+$/.test(reference.via))
        return plain(file, reference);
      if (found === undefined) return byName(file, reference.name);
      if (found.length === 0) return NOTHING;
      return { symbols: found, confidence: value.kind === "module" ? CERTAIN : BY_TYPE };
    },
  };
};
