import { type Expression, endOfBase, stepsOf } from "../extract/expression.ts";
import type { FileRecord } from "../project/family.ts";
import { inOrder, isType, shapeOf } from "../project/shape.ts";
import { definitionOf, fileOf, type SymbolId, symbolId, type Table } from "../project/table.ts";
import type { Named, Names } from "./names.ts";
import { createTypes, symbolsOf, type Types } from "./types.ts";

/** What an expression stands for. */
export type Value =
  | Named
  | { readonly kind: "instance"; readonly id: SymbolId }
  | { readonly kind: "many"; readonly of: Value }
  | { readonly kind: "foreign" }
  | { readonly kind: "unknown" };

const FOREIGN_VALUE: Value = { kind: "foreign" };
const UNKNOWN_VALUE: Value = { kind: "unknown" };

export interface Values extends Omit<Types, "typeNamed"> {
  /** @param inside definition around the expression, for `this`. */
  evaluate(file: FileRecord, expression: Expression, inside: number): Value;
  /** Symbols that a name after a dot means; undefined where the value is not known well enough to say. */
  membersOf(value: Value, name: string): readonly SymbolId[] | undefined;
}

/** Types of types of types: enough for real code, an end for cycles. */
const MAX_DEPTH = 10;
/** Expressions whose value is kept: some tens of megabytes. */
const MAX_MEMO = 200_000;

/** Methods of collections that give one element, and those that give a collection again. */
const ELEMENT =
  /^(?:get|at|find|findLast|pop|shift|first|last|next|peek|poll|remove|getOrDefault|computeIfAbsent|get_mut|unwrap|expect|iter|setdefault|item)$/;
const AGAIN =
  /^(?:values|filter|slice|sort|toSorted|reverse|concat|flat|stream|iterator|sorted|copy|clone|collect|entries|iter|into_iter|iter_mut|as_ref|as_mut|toList|toArray)$/;

export const createValues = (table: Table, names: Names): Values => {
  const memo = new Map<string, Value>();
  let memoAt = -1;
  const { memberOfType, basesOf, classAround, typeNamed } = createTypes(
    table,
    names,
    (file, via, inside, name) => membersOf(evaluate(file, via, inside), name),
  );

  const isNamedType = (file: FileRecord, name: string): boolean =>
    table.named.get(name).some((id) => table.file(fileOf(id))?.family === file.family);

  /** A variable stands for its value. */
  const settle = (value: Value, depth: number): Value => {
    if (value.kind !== "symbol") return value;
    const definition = table.definition(value.id);
    if (definition === undefined || !/^(?:constant|variable|field)$/.test(definition.kind)) return value;
    if (definition.type === "") return hasMembers(value.id) ? value : UNKNOWN_VALUE;
    return typeOfSymbol(value.id, depth);
  };

  const hasMembers = (id: SymbolId): boolean => {
    const file = table.file(fileOf(id));
    return file !== undefined && shapeOf(file).members.has(definitionOf(id));
  };

  /** `type Handler = (walker: Walker) => void`: an instance of it is the function. */
  const isFunctionType = (id: SymbolId): boolean => {
    const definition = table.definition(id);
    return definition?.kind === "type" && definition.parameters !== "";
  };

  const typeOfSymbol = (id: SymbolId, depth: number): Value => {
    const file = table.file(fileOf(id));
    const definition = table.definition(id);
    if (file === undefined || definition === undefined || definition.type === "") return UNKNOWN_VALUE;
    return evaluateDeep(file, definition.type, definitionOf(id), depth - 1);
  };

  const membersOf = (value: Value, name: string, depth = MAX_DEPTH): readonly SymbolId[] | undefined => {
    const settled = settle(value, depth);
    switch (settled.kind) {
      case "module": {
        const found = symbolsOf(names.exported(settled.files, name));
        return found;
      }
      case "instance":
      case "symbol": {
        const found = memberOfType(settled.id, name);
        if (found.length > 0) return found;
        const definition = table.definition(settled.id);
        if (definition?.kind === "type" && definition.type !== "" && depth > 0 && !isFunctionType(settled.id))
          return membersOf(typeOfSymbol(settled.id, depth), name, depth - 2);
        if (settled.kind === "symbol" && definition?.kind === "function") return undefined;
        // A class with a parent that is not ours may have the member from there.
        return [];
      }
      case "foreign":
      case "many":
        return [];
      default:
        return undefined;
    }
  };

  const firstOf = (found: readonly Named[] | "foreign"): Value =>
    found === "foreign" ? FOREIGN_VALUE : (found[0] ?? UNKNOWN_VALUE);

  const nameValue = (file: FileRecord, path: string): Value => {
    const [first = "", ...rest] = path.split(".");
    let value: Value = first.startsWith("#")
      ? { kind: "symbol", id: symbolId(file.id, Number(first.slice(1))) }
      : firstOf(names.lookup(file, first));
    // `Integer.parseInt`: a type that no file of the project defines.
    if (
      value.kind === "unknown" &&
      /^[A-Z]/.test(first) &&
      typeNamed(file, first) === undefined &&
      !isNamedType(file, first)
    )
      return FOREIGN_VALUE;
    if (value.kind === "unknown" && /^[A-Z]/.test(first) && file.family.reach === "project") {
      const type = typeNamed(file, first);
      if (type !== undefined) value = { kind: "symbol", id: type };
    }
    for (const part of rest) value = memberValue(value, part, MAX_DEPTH);
    return value;
  };

  const memberValue = (value: Value, name: string, depth: number): Value => {
    if (value.kind === "module") {
      const [found] = names.exported(value.files, name);
      if (found !== undefined) return found;
      const [file] = inOrder(table, value.files);
      const source = file?.family.attributeModule?.(name);
      if (file === undefined || source === undefined) return UNKNOWN_VALUE;
      const inner = names.imported(file, { source, name: "", local: "", line: 0, exported: false });
      return inner === "foreign" ? UNKNOWN_VALUE : (inner[0] ?? UNKNOWN_VALUE);
    }
    const found = membersOf(value, name, depth);
    if (found === undefined) return UNKNOWN_VALUE;
    const [first] = found;
    if (first !== undefined) return { kind: "symbol", id: first };
    return value.kind === "foreign" ? FOREIGN_VALUE : UNKNOWN_VALUE;
  };

  /** What the function that a value is takes in that place. */
  const parameterValue = (value: Value, place: number, depth: number): Value => {
    if (value.kind !== "symbol" && value.kind !== "instance")
      return value.kind === "foreign" ? value : UNKNOWN_VALUE;
    const file = table.file(fileOf(value.id));
    const parameters = table.definition(value.id)?.parameters ?? "";
    const found = parameters.slice(1, -1).split(",")[place] ?? "";
    if (file === undefined || found === "") return UNKNOWN_VALUE;
    return evaluateDeep(file, found, definitionOf(value.id), depth - 1);
  };

  const callValue = (value: Value, depth: number): Value => {
    if (value.kind === "instance" && isFunctionType(value.id)) return typeOfSymbol(value.id, depth);
    if (value.kind !== "symbol") return value.kind === "foreign" ? value : UNKNOWN_VALUE;
    const definition = table.definition(value.id);
    if (definition === undefined) return UNKNOWN_VALUE;
    if (definition.kind === "class" || definition.kind === "interface" || definition.kind === "enum")
      return { kind: "instance", id: value.id };
    if (/^(?:constant|variable|field)$/.test(definition.kind)) {
      const settled = settle(value, depth);
      return settled.kind === "symbol" ? UNKNOWN_VALUE : callValue(settled, depth);
    }
    if (definition.type !== "") return typeOfSymbol(value.id, depth);
    // A function that returns an object made on the spot: its functions are members of the function.
    return definition.kind === "function" && hasMembers(value.id) ? value : UNKNOWN_VALUE;
  };

  const instanceValue = (file: FileRecord, type: string, depth: number): Value => {
    let value = nameValue(file, type);
    if (value.kind === "unknown") {
      const found = typeNamed(file, type);
      if (found !== undefined && file.family.typesNeedImport !== true) value = { kind: "symbol", id: found };
    }
    if (value.kind !== "symbol") return value.kind === "foreign" ? value : UNKNOWN_VALUE;
    const definition = table.definition(value.id);
    if (
      definition?.kind === "type" &&
      definition.type !== "" &&
      !hasMembers(value.id) &&
      !isFunctionType(value.id)
    )
      return typeOfSymbol(value.id, depth);
    if (isType(definition)) return { kind: "instance", id: value.id };
    if (definition?.kind === "constant" || definition?.kind === "variable") return settle(value, depth);
    return definition?.kind === "function" ? { kind: "instance", id: value.id } : UNKNOWN_VALUE;
  };

  const baseValue = (file: FileRecord, base: string, inside: number, depth: number): Value => {
    if (base === "?" || base === "") return UNKNOWN_VALUE;
    if (base === "!") return FOREIGN_VALUE;
    if (base === "this" || base === "<this>" || base === "super") {
      const around = classAround(file, inside);
      if (around === undefined) return UNKNOWN_VALUE;
      if (base !== "super") return { kind: "instance", id: around };
      const [parent] = basesOf(around);
      return parent === undefined ? FOREIGN_VALUE : { kind: "instance", id: parent };
    }
    if (base.startsWith("<")) return instanceValue(file, base.slice(1, -1), depth);
    if (base.startsWith("{"))
      return { kind: "many", of: evaluateDeep(file, base.slice(1, -1), inside, depth - 1) };
    return nameValue(file, base);
  };

  const evaluateDeep = (file: FileRecord, expression: Expression, inside: number, depth: number): Value => {
    if (depth <= 0) return UNKNOWN_VALUE;
    const end = endOfBase(expression);
    let value = baseValue(file, expression.slice(0, end), inside, depth);
    const steps = stepsOf(expression.slice(end));
    for (let at = 0; at < steps.length; at++) {
      const word = steps[at] ?? "";
      if (word !== "()") value = settle(value, depth);
      if (value.kind === "many" && word.startsWith(".")) {
        const name = word.slice(1);
        const isCall = steps[at + 1] === "()";
        if (!isCall || !(ELEMENT.test(name) || AGAIN.test(name))) return FOREIGN_VALUE;
        if (ELEMENT.test(name)) value = value.of;
        at++;
      } else if (word === "()") value = callValue(value, depth);
      else if (word.startsWith("^")) value = parameterValue(value, Number(word.slice(1)), depth);
      else if (word === "[]")
        value = value.kind === "many" ? value.of : value.kind === "foreign" ? value : UNKNOWN_VALUE;
      else value = memberValue(value, word.slice(1), depth);
      if (value.kind === "unknown" || value.kind === "foreign") return value;
    }
    return value;
  };

  const evaluate = (file: FileRecord, expression: Expression, inside: number): Value => {
    if (memoAt !== table.generation) {
      memo.clear();
      memoAt = table.generation;
    }
    const needsInside = expression.includes("this") || expression.includes("super");
    const key = `${file.id} ${needsInside ? inside : ""} ${expression}`;
    const known = memo.get(key);
    if (known !== undefined) return known;
    if (memo.size > MAX_MEMO) memo.clear();
    memo.set(key, UNKNOWN_VALUE);
    const value = evaluateDeep(file, expression, inside, MAX_DEPTH);
    memo.set(key, value);
    return value;
  };

  return {
    evaluate,
    membersOf: (value, name) => membersOf(value, name),
    memberOfType,
    basesOf,
    classAround,
  };
};
