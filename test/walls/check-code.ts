import { lineOf, literalOf, type Node, type Source, walk } from "./source.ts";
import {
  CLOCK_AND_CHANCE,
  DIALECT,
  HARMLESS_PROCESS_PROPERTIES,
  MACHINE_ROOMS,
  PURE_ROOMS,
  REFUSED_GLOBALS,
  type WallTable,
} from "./table.ts";

/** Nodes of types that hold an expression which runs. */
const RUNS = /^TS(As|NonNull|Satisfies|Instantiation|TypeAssertion)Expression$|^TSTypeAssertion$/;

/** Everything that runs: types are left out. */
const walkCode = (program: Node, visit: (node: Node, parent: Node | undefined, key: string) => void): void =>
  walk(program, (node, parent, key) => {
    if (node.type.startsWith("TS") && !RUNS.test(node.type)) return node.type.startsWith("TSImportEquals");
    const isTypeImport = node["importKind"] === "type" || node["exportKind"] === "type";
    if (isTypeImport || key === "typeAnnotation" || key === "typeArguments") return false;
    visit(node, parent, key);
    return undefined;
  });

/** The name of a property: `a.b`, `a["b"]`, `{ b: … }`; undefined where it is computed. */
const propertyName = (node: Node): string | undefined => {
  const property = (node["property"] ?? node["key"]) as Node | undefined;
  if (property === undefined) return undefined;
  if (node["computed"] !== true && typeof property["name"] === "string") return property["name"];
  return literalOf(property);
};

/** Whether the identifier names a property or a module's export, and no variable. */
const isMereName = (parent: Node | undefined, key: string): boolean =>
  parent !== undefined &&
  ((key === "property" && parent["computed"] !== true) ||
    (key === "key" && parent["computed"] !== true) ||
    key === "exported" ||
    key === "label");

const textAt = ({ path, text }: Source, node: Node): string =>
  `${path}:${lineOf(text, node.start)} ${text.slice(node.start, node.end).split("\n")[0]?.slice(0, 60)}`;

/**
 * Ways to the machine that need no import. Names are refused wherever they stand for a variable, also where one of that
 * name is declared: so no alias, no destructuring and no shadow hides them. `process` is read property by property.
 */
export const machineAccess = (sources: readonly Source[], table: WallTable): string[] =>
  sources
    .filter(({ room }) => !MACHINE_ROOMS.includes(room))
    .flatMap((source) => {
      const found: string[] = [];
      const refuse = (node: Node, why: string): void => void found.push(`${textAt(source, node)}: ${why}`);
      const properties = [...HARMLESS_PROCESS_PROPERTIES, ...(table.processProperties[source.room] ?? [])];
      walkCode(source.program, (node, parent, key) => {
        if (node.type === "ImportExpression" && literalOf(node["source"]) === undefined)
          refuse(node, "the name of an imported module is computed");
        if (node.type === "TSImportEqualsDeclaration") refuse(node, "import = require(…)");
        if (node.type === "MemberExpression" && propertyName(node) === "constructor")
          refuse(node, "the constructor of a function compiles code");
        if (
          node.type === "MemberExpression" &&
          PURE_ROOMS.includes(source.room) &&
          CLOCK_AND_CHANCE.includes(propertyName(node) ?? "")
        )
          refuse(node, `${propertyName(node)} is not pure`);
        if (node.type !== "Identifier" || isMereName(parent, key)) return;
        const name = String(node["name"]);
        if (REFUSED_GLOBALS.includes(name) && !table.globals[source.room]?.includes(name))
          refuse(parent ?? node, `${name} reaches past the rooms`);
        if (PURE_ROOMS.includes(source.room) && CLOCK_AND_CHANCE.includes(name))
          refuse(parent ?? node, `${name} is not pure`);
        if (name !== "process") return;
        const isRead = parent?.type === "MemberExpression" && key === "object";
        const property = isRead ? propertyName(parent) : undefined;
        if (property === undefined) refuse(parent ?? node, "process is only read property by property");
        else if (!properties.includes(property))
          refuse(parent ?? node, `process.${property} is not this room's`);
      });
      return [...new Set(found)];
    });

/** Tables may be long: `options.ts`, `table.ts` and `…-table.ts`. */
const isTable = (path: string): boolean => /(^|[/-])(options|table)\.ts$/.test(path);

export const longFiles = (sources: readonly Source[], maxLines: number): string[] =>
  sources
    .filter(({ path }) => !isTable(path))
    .map(({ path, text }) => ({ path, lines: text.trimEnd().split("\n").length }))
    .filter(({ lines }) => lines > maxLines)
    .map(({ path, lines }) => `${path} has ${lines} lines`);

const FUNCTION = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;

export const longFunctions = (sources: readonly Source[], maxLines: number): string[] =>
  sources
    .filter(({ path }) => !isTable(path))
    .flatMap((source) => {
      const found: string[] = [];
      walk(source.program, (node) => {
        if (!FUNCTION.test(node.type)) return undefined;
        const lines = source.text.slice(node.start, node.end).split("\n").length;
        if (lines > maxLines) found.push(`${textAt(source, node)} … has ${lines} lines`);
        return undefined;
      });
      return found;
    });

/** `ownWords` → own, words; `own-words.ts` → own, words. */
const partsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/);

/** A word of the dialect may be part of a term that the field knows. */
const KNOWN_TERMS = /stop_?words|look_?up|^bench\//i;

const dialectIn = (name: string): string | undefined =>
  partsOf(name.replace(KNOWN_TERMS, "")).find((part) => Object.hasOwn(DIALECT, part));

const DECLARES: Readonly<Record<string, readonly string[]>> = {
  id: [
    "VariableDeclarator",
    "FunctionDeclaration",
    "ClassDeclaration",
    "TSInterfaceDeclaration",
    "TSTypeAliasDeclaration",
  ],
  key: ["TSPropertySignature", "TSMethodSignature", "PropertyDefinition", "MethodDefinition"],
};

/** Names that a node declares: variables, functions, types, members, parameters, destructured or not. */
const declaredNames = (node: Node, parent: Node | undefined, key: string): string[] => {
  if (node.type !== "Identifier" || parent === undefined) return [];
  const isDeclared =
    DECLARES[key]?.includes(parent.type) === true ||
    key === "params" ||
    (parent.type === "Property" && key === "value") ||
    (parent.type === "AssignmentPattern" && key === "left") ||
    parent.type === "ArrayPattern" ||
    parent.type === "RestElement";
  return isDeclared ? [String(node["name"])] : [];
};

/** Words of the private dialect in file names and declared names, once per file and name. */
export const dialectNames = (sources: readonly Source[]): string[] =>
  sources.flatMap(({ path, program }) => {
    const names = new Set([path]);
    walk(program, (node, parent, key) => {
      for (const name of declaredNames(node, parent, key)) names.add(name);
      return undefined;
    });
    return [...names].flatMap((name) => {
      const word = dialectIn(name);
      if (word === undefined) return [];
      return [`${path}: ${name === path ? "the file" : name} says "${word}": ${DIALECT[word]}`];
    });
  });
