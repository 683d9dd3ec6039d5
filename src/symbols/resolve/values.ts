import { type Expression, endOfBase, stepsOf } from "../extract/expression.ts";
import type { FileRecord } from "../project/family.ts";
import { inOrder, isType, shapeOf } from "../project/shape.ts";
import { definitionOf, fileOf, type SymbolId, symbolId, type Table } from "../project/table.ts";
import type { Named, Names } from "./names.ts";
import { createTypes, symbolsOf, type Types } from "./types.ts";

/** What an expression evaluates to. */
export type Value =
  | Named
  | { readonly kind: "instance"; readonly id: SymbolId }
  | { readonly kind: "collection"; readonly of: Value }
  | { readonly kind: "foreign" }
  | { readonly kind: "unknown" };

interface State {
  readonly table: Table;
  readonly names: Names;
  readonly types: Types;
  /** Values by file and expression, of one generation of the table. */
  readonly known: Map<string, Value>;
  generation: number;
}

const FOREIGN_VALUE: Value = { kind: "foreign" };
const UNKNOWN_VALUE: Value = { kind: "unknown" };

export interface Values extends Omit<Types, "typeNamed"> {
  /** @param inside definition around the expression, for `this`. */
  evaluate(file: FileRecord, expression: Expression, inside: number): Value;
  /** Symbols that a name after a dot means; undefined where the value is not known well enough to say. */
  membersOf(value: Value, name: string): readonly SymbolId[] | undefined;
}

/** How far types are followed through other types: enough for real code, and an end for cycles. */
const MAX_DEPTH = 10;
/** Values that are cached: some tens of megabytes. */
const MAX_KNOWN = 200_000;

/** Methods of collections that return one element, and those that return such a collection again. */
const ELEMENT =
  /^(?:get|at|find|findLast|pop|shift|first|last|next|peek|poll|remove|getOrDefault|computeIfAbsent|get_mut|unwrap|expect|iter|setdefault|item)$/;
const SAME_COLLECTION =
  /^(?:values|filter|slice|sort|toSorted|reverse|concat|flat|stream|iterator|sorted|copy|clone|collect|entries|iter|into_iter|iter_mut|as_ref|as_mut|toList|toArray)$/;

const isNamedType = (state: State, file: FileRecord, name: string): boolean =>
  state.table.named.get(name).some((id) => state.table.file(fileOf(id))?.family === file.family);

/** What a variable holds; other values are themselves. */
const followVariable = (state: State, value: Value, depth: number): Value => {
  if (value.kind !== "symbol") return value;
  const definition = state.table.definition(value.id);
  if (definition === undefined || !/^(?:constant|variable|field)$/.test(definition.kind)) return value;
  if (definition.type === "") return hasMembers(state, value.id) ? value : UNKNOWN_VALUE;
  return typeOfSymbol(state, value.id, depth);
};

const hasMembers = (state: State, id: SymbolId): boolean => {
  const file = state.table.file(fileOf(id));
  return file !== undefined && shapeOf(file).members.has(definitionOf(id));
};

/** `type Handler = (walker: Walker) => void`: an instance of it is the function. */
const isFunctionType = (state: State, id: SymbolId): boolean => {
  const definition = state.table.definition(id);
  return definition?.kind === "type" && definition.parameters !== "";
};

const typeOfSymbol = (state: State, id: SymbolId, depth: number): Value => {
  const file = state.table.file(fileOf(id));
  const definition = state.table.definition(id);
  if (file === undefined || definition === undefined || definition.type === "") return UNKNOWN_VALUE;
  return evaluateDeep(state, file, definition.type, definitionOf(id), depth - 1);
};

/** What a property holds that is only another name for it; other symbols are themselves. */
const heldBy = (state: State, id: SymbolId, depth: number): Value => {
  if (state.table.definition(id)?.kind !== "alias") return { kind: "symbol", id };
  return depth <= 0 ? UNKNOWN_VALUE : typeOfSymbol(state, id, depth);
};

const membersOf = (
  state: State,
  value: Value,
  name: string,
  depth = MAX_DEPTH,
): readonly SymbolId[] | undefined =>
  ownMembersOf(state, value, name, depth)?.flatMap((id) => {
    const held = heldBy(state, id, depth);
    return held.kind === "symbol" ? [held.id] : [];
  });

/** Not followed to what they hold. */
const ownMembersOf = (
  state: State,
  value: Value,
  name: string,
  depth: number,
): readonly SymbolId[] | undefined => {
  const given = followVariable(state, value, depth);
  switch (given.kind) {
    case "module":
      return symbolsOf(state.names.exported(given.files, name));
    case "instance":
    case "symbol": {
      const found = state.types.memberOfType(given.id, name);
      if (found.length > 0) return found;
      const definition = state.table.definition(given.id);
      if (
        definition?.kind === "type" &&
        definition.type !== "" &&
        depth > 0 &&
        !isFunctionType(state, given.id)
      )
        return ownMembersOf(state, typeOfSymbol(state, given.id, depth), name, depth - 2);
      const beside = symbolsOf(state.names.besideWhole(given.id, name));
      if (beside.length > 0) return beside;
      if (given.kind === "symbol" && definition?.kind === "function") return undefined;
      // The member may come from a parent class outside of the project.
      return [];
    }
    case "foreign":
    case "collection":
      return [];
    default:
      return undefined;
  }
};

const firstOf = (found: readonly Named[] | "foreign"): Value =>
  found === "foreign" ? FOREIGN_VALUE : (found[0] ?? UNKNOWN_VALUE);

const nameValue = (state: State, file: FileRecord, path: string): Value => {
  const [first = "", ...rest] = path.split(".");
  let value: Value = first.startsWith("#")
    ? { kind: "symbol", id: symbolId(file.id, Number(first.slice(1))) }
    : firstOf(state.names.lookup(file, first));
  // `Integer.parseInt`: a type that no file of the project defines.
  if (
    value.kind === "unknown" &&
    /^[A-Z]/.test(first) &&
    state.types.typeNamed(file, first) === undefined &&
    !isNamedType(state, file, first)
  )
    return FOREIGN_VALUE;
  if (value.kind === "unknown" && /^[A-Z]/.test(first) && file.family.reach === "project") {
    const type = state.types.typeNamed(file, first);
    if (type !== undefined) value = { kind: "symbol", id: type };
  }
  for (const part of rest) value = memberValue(state, value, part, MAX_DEPTH);
  return value;
};

const memberValue = (state: State, value: Value, name: string, depth: number): Value => {
  if (value.kind === "module") {
    const [found] = state.names.exported(value.files, name);
    if (found !== undefined) return found;
    const [file] = inOrder(state.table, value.files);
    const source = file?.family.attributeModule?.(name);
    if (file === undefined || source === undefined) return UNKNOWN_VALUE;
    const inner = state.names.imported(file, { source, name: "", local: "", line: 0, exported: false });
    return inner === "foreign" ? UNKNOWN_VALUE : (inner[0] ?? UNKNOWN_VALUE);
  }
  const found = ownMembersOf(state, value, name, depth);
  if (found === undefined) return UNKNOWN_VALUE;
  const [first] = found;
  if (first !== undefined) return heldBy(state, first, depth);
  return value.kind === "foreign" ? FOREIGN_VALUE : UNKNOWN_VALUE;
};

/** What a function takes as the parameter at that index. */
const parameterValue = (state: State, value: Value, index: number, depth: number): Value => {
  if (value.kind !== "symbol" && value.kind !== "instance")
    return value.kind === "foreign" ? value : UNKNOWN_VALUE;
  const file = state.table.file(fileOf(value.id));
  const parameters = state.table.definition(value.id)?.parameters ?? "";
  const found = parameters.slice(1, -1).split(",")[index] ?? "";
  if (file === undefined || found === "") return UNKNOWN_VALUE;
  return evaluateDeep(state, file, found, definitionOf(value.id), depth - 1);
};

const callValue = (state: State, value: Value, depth: number): Value => {
  if (value.kind === "instance" && isFunctionType(state, value.id))
    return typeOfSymbol(state, value.id, depth);
  if (value.kind !== "symbol") return value.kind === "foreign" ? value : UNKNOWN_VALUE;
  const definition = state.table.definition(value.id);
  if (definition === undefined) return UNKNOWN_VALUE;
  if (definition.kind === "class" || definition.kind === "interface" || definition.kind === "enum")
    return { kind: "instance", id: value.id };
  if (/^(?:constant|variable|field)$/.test(definition.kind)) {
    const given = followVariable(state, value, depth);
    return given.kind === "symbol" ? UNKNOWN_VALUE : callValue(state, given, depth);
  }
  if (definition.type !== "") return typeOfSymbol(state, value.id, depth);
  // A function that returns an object literal: the functions of that object are members of the function.
  return definition.kind === "function" && hasMembers(state, value.id) ? value : UNKNOWN_VALUE;
};

const instanceValue = (state: State, file: FileRecord, type: string, depth: number): Value => {
  let value = nameValue(state, file, type);
  if (value.kind === "unknown") {
    const found = state.types.typeNamed(file, type);
    if (found !== undefined && file.family.typesNeedImport !== true) value = { kind: "symbol", id: found };
  }
  if (value.kind !== "symbol") return value.kind === "foreign" ? value : UNKNOWN_VALUE;
  const definition = state.table.definition(value.id);
  if (
    definition?.kind === "type" &&
    definition.type !== "" &&
    !hasMembers(state, value.id) &&
    !isFunctionType(state, value.id)
  )
    return typeOfSymbol(state, value.id, depth);
  if (isType(definition)) return { kind: "instance", id: value.id };
  if (definition?.kind === "constant" || definition?.kind === "variable")
    return followVariable(state, value, depth);
  return definition?.kind === "function" ? { kind: "instance", id: value.id } : UNKNOWN_VALUE;
};

const baseValue = (state: State, file: FileRecord, base: string, inside: number, depth: number): Value => {
  if (base === "?" || base === "") return UNKNOWN_VALUE;
  if (base === "!") return FOREIGN_VALUE;
  if (base === "this" || base === "<this>" || base === "super") {
    const around = state.types.classAround(file, inside);
    if (around === undefined) return UNKNOWN_VALUE;
    if (base !== "super") return { kind: "instance", id: around };
    const [parent] = state.types.basesOf(around);
    return parent === undefined ? FOREIGN_VALUE : { kind: "instance", id: parent };
  }
  if (base.startsWith("<")) return instanceValue(state, file, base.slice(1, -1), depth);
  if (base.startsWith("{"))
    return { kind: "collection", of: evaluateDeep(state, file, base.slice(1, -1), inside, depth - 1) };
  return nameValue(state, file, base);
};

const evaluateDeep = (
  state: State,
  file: FileRecord,
  expression: Expression,
  inside: number,
  depth: number,
): Value => {
  if (depth <= 0) return UNKNOWN_VALUE;
  const end = endOfBase(expression);
  let value = baseValue(state, file, expression.slice(0, end), inside, depth);
  const steps = stepsOf(expression.slice(end));
  for (let at = 0; at < steps.length; at++) {
    const step = steps[at] ?? "";
    if (step !== "()") value = followVariable(state, value, depth);
    if (value.kind === "collection" && step.startsWith(".")) {
      const name = step.slice(1);
      const isCall = steps[at + 1] === "()";
      if (!isCall || !(ELEMENT.test(name) || SAME_COLLECTION.test(name))) return FOREIGN_VALUE;
      if (ELEMENT.test(name)) value = value.of;
      at++;
    } else if (step === "()") value = callValue(state, value, depth);
    else if (step.startsWith("^")) value = parameterValue(state, value, Number(step.slice(1)), depth);
    else if (step === "[]")
      value = value.kind === "collection" ? value.of : value.kind === "foreign" ? value : UNKNOWN_VALUE;
    else value = memberValue(state, value, step.slice(1), depth);
    if (value.kind === "unknown" || value.kind === "foreign") return value;
  }
  return value;
};

const evaluate = (state: State, file: FileRecord, expression: Expression, inside: number): Value => {
  const { known, table } = state;
  if (state.generation !== table.generation || known.size > MAX_KNOWN) known.clear();
  state.generation = table.generation;
  const needsInside = expression.includes("this") || expression.includes("super");
  const key = `${file.id} ${needsInside ? inside : ""} ${expression}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  // An expression that needs its own value to be known stays unknown.
  known.set(key, UNKNOWN_VALUE);
  const value = evaluateDeep(state, file, expression, inside, MAX_DEPTH);
  known.set(key, value);
  return value;
};

export const createValues = (table: Table, names: Names): Values => {
  const types = createTypes(table, names, (file, via, inside, name) =>
    membersOf(state, evaluate(state, file, via, inside), name),
  );
  const state: State = { table, names, types, known: new Map(), generation: -1 };
  return {
    evaluate: (file, expression, inside) => evaluate(state, file, expression, inside),
    membersOf: (value, name) => membersOf(state, value, name),
    memberOfType: types.memberOfType,
    basesOf: types.basesOf,
    classAround: types.classAround,
  };
};
