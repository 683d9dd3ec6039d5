import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseSync } from "oxc-parser";
import { WIRING } from "./table.ts";

export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

export interface Import {
  readonly target: string;
  readonly typeOnly: boolean;
}

export interface Source {
  /** Relative to the tree's root, with `/`. */
  readonly path: string;
  readonly room: string;
  readonly text: string;
  readonly program: Node;
  readonly imports: readonly Import[];
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";

const childrenOf = (node: Node): readonly (readonly [string, Node])[] =>
  Object.entries(node).flatMap(([key, value]) => {
    if (Array.isArray(value)) return value.filter(isNode).map((child) => [key, child] as const);
    return isNode(value) ? [[key, value] as const] : [];
  });

/** Calls `visit` for a node and everything below it; no descent where it returns false. */
export const walk = (
  node: Node,
  visit: (node: Node, parent: Node | undefined, key: string) => boolean | undefined,
  parent?: Node,
  key = "",
): void => {
  if (visit(node, parent, key) === false) return;
  for (const [name, child] of childrenOf(node)) walk(child, visit, node, name);
};

/** The text of a string literal, or of a template without expressions. */
export const literalOf = (value: unknown): string | undefined => {
  if (!isNode(value)) return undefined;
  if (value.type === "Literal" && typeof value["value"] === "string") return value["value"];
  if (value.type === "TSLiteralType") return literalOf(value["literal"]);
  if (value.type !== "TemplateLiteral") return undefined;
  const { expressions, quasis } = value as unknown as {
    expressions: readonly unknown[];
    quasis: readonly { value: { cooked: string } }[];
  };
  return expressions.length === 0 ? quasis[0]?.value.cooked : undefined;
};

/** `import { type A, type B }` imports no value either. */
const isTypeOnly = (node: Node): boolean => {
  if (node["importKind"] === "type" || node["exportKind"] === "type") return true;
  const specifiers = node["specifiers"];
  return (
    Array.isArray(specifiers) &&
    specifiers.length > 0 &&
    specifiers.every((one: Node) => one["importKind"] === "type" || one["exportKind"] === "type")
  );
};

const importsOf = (program: Node): Import[] => {
  const found: Import[] = [];
  walk(program, (node) => {
    const isStatic = /^(Import|ExportNamed|ExportAll)Declaration$/.test(node.type);
    const isDynamic = node.type === "ImportExpression" || node.type === "TSImportType";
    const target = isStatic || isDynamic ? literalOf(node["source"] ?? node["argument"]) : undefined;
    if (target !== undefined)
      found.push({ target, typeOnly: node.type === "TSImportType" || (isStatic && isTypeOnly(node)) });
    return undefined;
  });
  return found;
};

const roomOf = (path: string): string => {
  const [first = "", ...rest] = path.split("/");
  return rest.length === 0 ? WIRING : first;
};

const isTest = (name: string): boolean => name.endsWith(".test.ts");

/** Every source file of a tree, without its tests unless they are asked for. */
export const readSources = (root: string, { tests = false } = {}): readonly Source[] =>
  readdirSync(root, { recursive: true, encoding: "utf8" })
    // Folders with a dot hold what benchmarks and tests install.
    .filter((name) => /\.[cm]?[jt]s$/.test(name) && !/(^|\/)\./.test(name) && (tests || !isTest(name)))
    .toSorted()
    .map((name) => {
      const text = readFileSync(join(root, name), "utf8");
      const { program, errors } = parseSync(name, text, { range: false });
      if (errors.length > 0) throw new Error(`${name} cannot be parsed: ${errors[0]?.message}`);
      const path = name.replaceAll("\\", "/");
      const tree = program as unknown as Node;
      return { path, room: roomOf(path), text, program: tree, imports: importsOf(tree) };
    });

/** The imported file's path within the tree; undefined for modules and packages. */
export const localTarget = (file: string, target: string): string | undefined =>
  target.startsWith(".") ? relative("/", resolve("/", dirname(file), target)) : undefined;

export const roomOfPath = roomOf;

export const lineOf = (text: string, offset: number): number => text.slice(0, offset).split("\n").length;
