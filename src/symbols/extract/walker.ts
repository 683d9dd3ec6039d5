import type { FlatTree } from "../../syntax/flat-tree.ts";
import { type Expression, FOREIGN, UNKNOWN } from "./expression.ts";
import type { FileSymbols, Import, ReferenceKind, SymbolKind } from "./file-symbols.ts";
import { qualify } from "./file-symbols.ts";
import { finishSymbols, type RawSymbols } from "./finish-symbols.ts";
import { createScopes, type Scopes } from "./scopes.ts";

export type Handler = (walker: Walker, node: number) => void;

/** How symbols of a language are extracted. */
export interface Rules {
  /** By node type; of a node without handler, the children are visited. */
  readonly handlers: { get(type: string): Handler | undefined };
  /** What is known about the value of an expression node. */
  expression(walker: Walker, node: number): Expression;
  /** Methods see members by plain name (Java), or only through `this` or `self`. */
  readonly membersVisible: boolean;
  /** A plain name that the file does not define may come from another file: by package, header or wildcard import. */
  readonly outerNames: boolean;
}

export interface DefineOptions {
  readonly exported?: boolean;
  readonly type?: Expression;
  readonly parameters?: readonly Expression[];
  /** Enclosing definition; the current one by default. */
  readonly parent?: number;
  /** Name of the type that it belongs to without being inside of it: `func (s *Store) Open`. */
  readonly attachedTo?: string;
  /** Scope where its name is visible; -1 for none. */
  readonly scope?: number;
}

export interface Walker {
  readonly tree: FlatTree;
  readonly scopes: Scopes;
  readonly rules: Rules;
  visit(node: number): void;
  visitChildren(node: number): void;
  visitField(node: number, field: string): void;
  children(node: number): readonly number[];
  type(node: number): string;
  text(node: number): string;
  field(node: number, name: string): number;
  /** First child of one of these types; -1 where there is none. */
  child(node: number, ...types: readonly string[]): number;
  expression(node: number): Expression;
  define(name: string, kind: SymbolKind, nameNode: number, whole: number, options?: DefineOptions): number;
  kindOf(definition: number): SymbolKind | undefined;
  nameOf(definition: number): string;
  parentOf(definition: number): number;
  /** Direct member of a definition with that name; -1 where there is none. */
  member(definition: number, name: string): number;
  setType(definition: number, type: Expression): void;
  setParameters(definition: number, parameters: readonly Expression[]): void;
  refer(name: string, node: number, kind: ReferenceKind, via?: Expression, inside?: number): void;
  /** The same for a name in a comment, which has no node of its own. */
  referAt(name: string, offset: number, kind: ReferenceKind, via?: Expression): void;
  /** @param scope where its name is visible; the current one by default. */
  import(
    entry: Omit<Import, "line" | "exported"> & { exported?: boolean },
    node: number,
    scope?: number,
  ): void;
  /** Runs in this scope once the whole file has been seen: what is defined further down is known then. */
  later(work: () => void): void;
  setModule(name: string): void;
}

/** In one file; more are left out. */
const MAX_REFERENCES = 400_000;
const MAX_DEFINITIONS = 100_000;
const MAX_NAME = 200;
const MAX_PARAMETERS = 12;

const tables = new WeakMap<Rules, WeakMap<readonly string[], readonly (Handler | undefined)[]>>();

/** Handlers by number of the node type: found once for each grammar. */
const handlersFor = (rules: Rules, types: readonly string[]): readonly (Handler | undefined)[] => {
  const ofRules = tables.get(rules) ?? new WeakMap<readonly string[], readonly (Handler | undefined)[]>();
  tables.set(rules, ofRules);
  const known = ofRules.get(types);
  if (known !== undefined) return known;
  const found = types.map((type) => (type === null ? undefined : rules.handlers.get(type)));
  ofRules.set(types, found);
  return found;
};

/** Nodes by number: what rules ask about the tree. */
const nodesOf = (tree: FlatTree): Pick<Walker, "children" | "type" | "text" | "field" | "child"> => ({
  children: (node) => {
    const found: number[] = [];
    for (let child = tree.firstChild[node] ?? -1; child >= 0; child = tree.nextSibling[child] ?? -1)
      found.push(child);
    return found;
  },
  type: (node) => (node < 0 ? "" : tree.type(node)),
  text: (node) => (node < 0 ? "" : tree.slice(node)),
  field: (node, name) => (node < 0 ? -1 : tree.field(node, name)),
  child: (node, ...types) => {
    for (let child = tree.firstChild[node] ?? -1; child >= 0; child = tree.nextSibling[child] ?? -1)
      if (types.includes(tree.type(child))) return child;
    return -1;
  },
});

type Collector = Pick<
  Walker,
  | "define"
  | "kindOf"
  | "nameOf"
  | "parentOf"
  | "member"
  | "setType"
  | "setParameters"
  | "refer"
  | "referAt"
  | "import"
  | "setModule"
>;

/** Takes what rules find. */
const collectorOf = (raw: RawSymbols, tree: FlatTree): Collector => {
  const { scopes, definitions, references, imports } = raw;
  const members = new Map<string, number>();
  const lineOf = (node: number): number => tree.line(tree.start[node] ?? 0);
  const refer = (name: string, line: number, kind: ReferenceKind, via: Expression, inside: number): void => {
    if (name === "" || name.length > MAX_NAME || references.length >= MAX_REFERENCES) return;
    references.push({ name, kind, line, via, inside, scope: scopes.current });
  };
  return {
    define: (name, kind, nameNode, whole, options = {}) => {
      if (name === "" || name.length > MAX_NAME || definitions.length >= MAX_DEFINITIONS) return -1;
      const owner = options.attachedTo === "" ? undefined : options.attachedTo;
      const parent = owner === undefined ? (options.parent ?? scopes.definition) : -1;
      const index = definitions.length;
      definitions.push({
        name,
        qualified: qualify(owner ?? definitions[parent]?.qualified, name),
        kind,
        line: lineOf(nameNode),
        startLine: lineOf(whole),
        endLine: tree.line(Math.max(tree.start[whole] ?? 0, (tree.end[whole] ?? 1) - 1)),
        exported: options.exported ?? false,
        parent,
        type: options.type ?? "",
        parameters: options.parameters,
        typeScope: scopes.current,
      });
      if (parent >= 0 && !members.has(`${parent} ${name}`)) members.set(`${parent} ${name}`, index);
      if (options.scope !== -1) scopes.bindDefinition(name, index, options.scope);
      return index;
    },
    kindOf: (definition) => definitions[definition]?.kind,
    nameOf: (definition) => definitions[definition]?.name ?? "",
    parentOf: (definition) => definitions[definition]?.parent ?? -1,
    member: (definition, name) => members.get(`${definition} ${name}`) ?? -1,
    setType: (definition, type) => {
      const found = definitions[definition];
      if (found === undefined || found.type !== "" || type === UNKNOWN || type === "") return;
      found.type = type;
      found.typeScope = scopes.current;
    },
    setParameters: (definition, parameters) => {
      const found = definitions[definition];
      const isInformative = parameters.some((parameter) => parameter !== UNKNOWN && parameter !== FOREIGN);
      if (found === undefined || !isInformative || parameters.length > MAX_PARAMETERS) return;
      found.parameters = parameters.map((parameter) => scopes.resolve(parameter, scopes.current, false));
    },
    refer: (name, node, kind, via = "", inside = scopes.definition) =>
      refer(name, lineOf(node), kind, via, inside),
    referAt: (name, offset, kind, via = "") => refer(name, tree.line(offset), kind, via, scopes.definition),
    import: ({ source, name, local, exported = false }, node, scope) => {
      if (source.length > MAX_NAME * 2) return;
      imports.push({ source, name, local, line: lineOf(node), exported });
      if (source !== "" && local !== "" && local !== "*" && !exported) scopes.bindImport(local, scope);
    },
    setModule: (name) => {
      raw.module = name;
    },
  };
};

export const walk = (tree: FlatTree, rules: Rules): FileSymbols => {
  const scopes = createScopes(rules.membersVisible);
  const handlers = handlersFor(rules, tree.types);
  const waiting: { readonly scope: number; readonly work: () => void }[] = [];
  const raw: RawSymbols = { scopes, definitions: [], references: [], imports: [], module: "" };
  const visit = (node: number): void => {
    if (node < 0) return;
    const handler = handlers[tree.typeIds[node] ?? 0];
    if (handler === undefined) visitChildren(node);
    else handler(walker, node);
  };
  const visitChildren = (node: number): void => {
    for (let child = tree.firstChild[node] ?? -1; child >= 0; child = tree.nextSibling[child] ?? -1)
      visit(child);
  };
  const walker: Walker = {
    tree,
    scopes,
    rules,
    visit,
    visitChildren,
    visitField: (node, field) => visit(tree.field(node, field)),
    ...nodesOf(tree),
    expression: (node) => (node < 0 ? UNKNOWN : rules.expression(walker, node) || UNKNOWN),
    later: (work) => waiting.push({ scope: scopes.current, work }),
    ...collectorOf(raw, tree),
  };
  visit(0);
  for (const { scope, work } of waiting) scopes.within(scope, work);
  return finishSymbols(raw, rules.outerNames);
};
