import { bounded, type Expression, endOfBase, FOREIGN, UNKNOWN } from "./expression.ts";

export type ScopeKind = "file" | "class" | "function" | "block";

/** A parameter or variable of a function: not a symbol of the graph, but it may shadow one, and its type may be known. */
interface Local {
  type: Expression;
  readonly scope: number;
}

/** What a name means in a scope: a definition of the file (its index), an import, or a local. */
type Binding = number | Local;

const IMPORTED = -1;

interface Scope {
  readonly parent: number;
  readonly kind: ScopeKind;
  /** Definition whose body it is part of; -1 for the file. */
  readonly definition: number;
  names: Map<string, Binding> | undefined;
}

/** Bases that are not names of a scope. */
const FIXED = /^<?(?:this|super|#\d+|[?!])(?:\.|>|$)/;

/** How far the type of a local is followed through other locals. */
const MAX_HOPS = 8;

export type Meaning = { readonly definition: number } | "local" | "import" | "unbound";

export interface Scopes {
  readonly current: number;
  readonly definition: number;
  readonly kind: ScopeKind;
  enter(kind: ScopeKind, definition?: number): void;
  leave(): void;
  /** Does something as if the walk were still in a scope that it has left. */
  within(scope: number, work: () => void): void;
  /** Nearest scope of one of these kinds. */
  nearest(...kinds: readonly ScopeKind[]): number;
  definitionOf(scope: number): number;
  parentOf(scope: number): number;
  kindOf(scope: number): ScopeKind;
  bindDefinition(name: string, definition: number, scope?: number): void;
  bindImport(name: string, scope?: number): void;
  bindLocal(name: string, type: Expression, scope?: number): void;
  meaning(name: string, scope: number): Meaning;
  /**
   * The same expression without locals: what is left can be read from outside the file.
   * @param closed names that the file does not explain are not ours: no wildcard brings them in.
   */
  resolve(expression: Expression, scope: number, closed: boolean): Expression;
}

const meaningOf = (binding: Binding | undefined): Meaning => {
  if (binding === undefined) return "unbound";
  if (binding === IMPORTED) return "import";
  return typeof binding === "number" ? { definition: binding } : "local";
};

const addBinding = (names: Map<string, Binding>, name: string, binding: Binding): void => {
  if (name === "") return;
  const before = names.get(name);
  // A second definition of a name (overload, merged declaration) joins the first; a local never replaces either.
  if (before === undefined || (typeof before === "object" && typeof binding === "number"))
    names.set(name, binding);
  else if (typeof before === "object" && typeof binding === "object" && before.type === "")
    before.type = binding.type;
};

const nearestOf = (scopes: readonly Scope[], from: number, kinds: readonly ScopeKind[]): number => {
  let scope = from;
  while (scope > 0 && !kinds.includes(scopes[scope]?.kind ?? "file")) scope = scopes[scope]?.parent ?? 0;
  return scope;
};

/** @param membersVisible whether a method sees the members of its class by their plain names, as in Java; in Python it does not. */
export const createScopes = (membersVisible: boolean): Scopes => {
  const scopes: Scope[] = [{ parent: -1, kind: "file", definition: -1, names: undefined }];
  let current = 0;
  const at = (scope: number): Scope | undefined => scopes[scope];
  const namesOf = (scope: number): Map<string, Binding> => {
    const found = at(scope);
    if (found === undefined) return new Map();
    found.names ??= new Map();
    return found.names;
  };
  const find = (name: string, from: number): Binding | undefined => {
    let own = from;
    while (at(own)?.kind === "block") own = at(own)?.parent ?? -1;
    for (let scope = from; scope >= 0; scope = at(scope)?.parent ?? -1) {
      const { names, kind } = at(scope) ?? {};
      if (names === undefined || (kind === "class" && !membersVisible && scope !== own)) continue;
      const found = names.get(name);
      if (found !== undefined) return found;
    }
    return undefined;
  };

  const resolve = (expression: Expression, scope: number, closed: boolean, hops = MAX_HOPS): Expression => {
    if (expression === "") return "";
    const end = endOfBase(expression);
    const base = expression.slice(0, end);
    const steps = expression.slice(end);
    const known = baseOf(base, scope, closed, hops);
    if (known === UNKNOWN || known === FOREIGN) return known;
    return bounded(known + steps);
  };
  const baseOf = (base: string, scope: number, closed: boolean, hops: number): Expression => {
    if (base.startsWith("{")) {
      const element = resolve(base.slice(1, -1), scope, closed, hops);
      return element === FOREIGN ? FOREIGN : `{${element}}`;
    }
    if (FIXED.test(base)) return base;
    const isType = base.startsWith("<");
    const path = isType ? base.slice(1, -1) : base;
    const dot = path.indexOf(".");
    const name = dot < 0 ? path : path.slice(0, dot);
    const binding = find(name, scope);
    if (binding === undefined) return closed ? FOREIGN : base;
    if (binding === IMPORTED) return base;
    if (typeof binding === "number") {
      const rest = dot < 0 ? "" : path.slice(dot);
      return isType ? `<#${binding}${rest}>` : `#${binding}${rest}`;
    }
    if (hops <= 0 || binding.type === "") return UNKNOWN;
    const type = resolve(binding.type, binding.scope, closed, hops - 1);
    return dot < 0 || type === UNKNOWN ? type : UNKNOWN;
  };

  const bind = (name: string, binding: Binding, scope: number): void =>
    addBinding(namesOf(scope), name, binding);

  return {
    get current() {
      return current;
    },
    get definition() {
      return at(current)?.definition ?? -1;
    },
    get kind() {
      return at(current)?.kind ?? "file";
    },
    enter: (kind, definition) => {
      scopes.push({
        parent: current,
        kind,
        definition: definition ?? at(current)?.definition ?? -1,
        names: undefined,
      });
      current = scopes.length - 1;
    },
    leave: () => {
      current = Math.max(0, at(current)?.parent ?? 0);
    },
    within: (scope, work) => {
      const before = current;
      current = scope;
      work();
      current = before;
    },
    nearest: (...kinds) => nearestOf(scopes, current, kinds),
    definitionOf: (scope) => at(scope)?.definition ?? -1,
    parentOf: (scope) => at(scope)?.parent ?? -1,
    kindOf: (scope) => at(scope)?.kind ?? "file",
    bindDefinition: (name, definition, scope = current) => bind(name, definition, scope),
    bindImport: (name, scope = current) => bind(name, IMPORTED, scope),
    bindLocal: (name, type, scope = current) =>
      bind(name, { type: type === UNKNOWN ? "" : type, scope: current }, scope),
    meaning: (name, scope) => meaningOf(find(name, scope)),
    resolve: (expression, scope, closed) => resolve(expression, scope, closed),
  };
};
