import type { Expression } from "../extract/expression.ts";
import { type Definition, SPREAD } from "../extract/file-symbols.ts";
import type { FileRecord } from "../project/family.ts";
import { attachedTo, isType, shapeOf } from "../project/shape.ts";
import { definitionOf, fileOf, type SymbolId, symbolId, type Table } from "../project/table.ts";
import type { Named, Names } from "./names.ts";

/** Symbols that `via.name` means, seen from inside a definition. */
export type MembersVia = (
  file: FileRecord,
  via: Expression,
  inside: number,
  name: string,
) => readonly SymbolId[] | undefined;

export const symbolsOf = (found: readonly Named[] | "foreign"): readonly SymbolId[] =>
  found === "foreign" ? [] : found.flatMap((entry) => (entry.kind === "symbol" ? [entry.id] : []));

/** A function is a class where it is called with `new`. */
const canInherit = (definition: Definition | undefined): boolean =>
  isType(definition) || definition?.kind === "function";

/** Members inside of the definition, and those attached to it from elsewhere. */
const directMembers = (table: Table, type: SymbolId, name: string): readonly SymbolId[] => {
  const file = table.file(fileOf(type));
  const definition = table.definition(type);
  if (file === undefined || definition === undefined) return [];
  const own: number[] = [];
  const { members, top } = shapeOf(file);
  const twins = definition.parent < 0 ? (top.get(definition.name) ?? []) : [definitionOf(type)];
  for (const twin of twins) own.push(...(members.get(twin)?.get(name) ?? []));
  const attached = table.attached.get(`${definition.name}.${name}`).filter((id) => {
    const other = table.file(fileOf(id));
    return (
      other !== undefined &&
      other.family === file.family &&
      (file.family.methodsShareFolder !== true || other.folder === file.folder)
    );
  });
  return [...own.map((index) => symbolId(file.id, index)), ...attached];
};

/** A constructor function, or an object that is not inside of a method of its own class. */
const isObjectWithMethods = (file: FileRecord, index: number): boolean => {
  const kind = file.definitions[index]?.kind;
  if (kind !== "function" && kind !== "constant" && kind !== "variable") return false;
  const members = shapeOf(file).members.get(index);
  if (members === undefined) return false;
  for (const ids of members.values())
    if (ids.some((id) => /^(?:method|field)$/.test(file.definitions[id]?.kind ?? ""))) return true;
  return false;
};

/**
 * Members and parents of types, and which type a name means.
 *
 * @param membersVia evaluates parents that are written as `module.Class`.
 */
export const createTypes = (table: Table, names: Names, membersVia: MembersVia) => {
  const basesOf = (type: SymbolId): readonly SymbolId[] => {
    const file = table.file(fileOf(type));
    if (file === undefined) return [];
    const index = definitionOf(type);
    return (shapeOf(file).bases.get(index) ?? []).flatMap((at) => {
      const { name, via, target } = table.reference(file, at);
      if (target >= 0) return [symbolId(file.id, target)];
      const found = via === "" ? symbolsOf(names.lookup(file, name)) : membersVia(file, via, index, name);
      return (found ?? []).filter((id) => canInherit(table.definition(id)) && id !== type);
    });
  };

  /** Members of what the literal of an object spreads, or what is assigned to it as a whole. */
  const mixedIn = (type: SymbolId, name: string): readonly SymbolId[] => {
    const file = table.file(fileOf(type));
    if (file === undefined || name === SPREAD) return [];
    const index = definitionOf(type);
    for (const spread of shapeOf(file).members.get(index)?.get(SPREAD) ?? []) {
      const held = file.definitions[spread]?.type ?? "";
      const found = membersVia(file, held, index, name) ?? [];
      if (found.length > 0) return found;
    }
    return [];
  };

  const memberOfType = (type: SymbolId, name: string, seen = new Set<SymbolId>()): readonly SymbolId[] => {
    if (seen.has(type) || seen.size > 64) return [];
    seen.add(type);
    const own = directMembers(table, type, name);
    if (own.length > 0) return own;
    const mixed = mixedIn(type, name);
    if (mixed.length > 0) return mixed;
    for (const base of basesOf(type)) {
      const found = memberOfType(base, name, seen);
      if (found.length > 0) return found;
    }
    // Partial classes, and interfaces merged over several files.
    const file = table.file(fileOf(type));
    const definition = table.definition(type);
    if (file?.family.hasOpenTypes === true) {
      for (const twin of table.named.get(definition?.name ?? "")) {
        if (
          seen.has(twin) ||
          !isType(table.definition(twin)) ||
          table.file(fileOf(twin))?.family !== file.family
        )
          continue;
        const found = memberOfType(twin, name, seen);
        if (found.length > 0) return found;
      }
    }
    return [];
  };

  const classAround = (file: FileRecord, inside: number): SymbolId | undefined => {
    for (let at = inside; at >= 0; at = file.definitions[at]?.parent ?? -1) {
      const definition = file.definitions[at];
      if (definition === undefined) return undefined;
      if (isType(definition)) return symbolId(file.id, at);
      if (file.family.hasObjectMethods === true && isObjectWithMethods(file, at))
        return symbolId(file.id, at);
      const owner = attachedTo(definition);
      if (owner !== "") return typeNamed(file, owner);
    }
    return undefined;
  };

  const typeNamed = (file: FileRecord, name: string): SymbolId | undefined => {
    const found = symbolsOf(names.lookup(file, name)).filter((id) => isType(table.definition(id)));
    if (found.length > 0) return found[0];
    const all = table.named
      .get(name)
      .filter((id) => isType(table.definition(id)) && table.file(fileOf(id))?.family === file.family);
    const near = all.filter((id) => table.file(fileOf(id))?.folder === file.folder);
    return near.length === 1 ? near[0] : all.length === 1 ? all[0] : undefined;
  };

  return {
    /** Members of a class and of all that it inherits from. */
    memberOfType: (type: SymbolId, name: string): readonly SymbolId[] => memberOfType(type, name),
    basesOf,
    /** The class that a definition is part of. */
    classAround,
    /** The type that a file means by a name, imported or not. */
    typeNamed,
  };
};

export type Types = ReturnType<typeof createTypes>;
