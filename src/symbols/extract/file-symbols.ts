/** The kinds of definition, the same for all languages. */
export type SymbolKind =
  | "class"
  | "interface"
  | "function"
  | "method"
  | "constant"
  | "variable"
  | "field"
  | "type"
  | "enum"
  | "module"
  | "macro"
  /**
   * A property that holds what something else defines: `{ open: openStore }`. Whoever names it means what it holds, so
   * answers never show it. One that is called `SPREAD` stands for all members of what it holds.
   */
  | "alias";

export const SPREAD = "...";

export interface Definition {
  readonly name: string;
  /** With the names of the enclosing definitions, joined by dots. */
  readonly qualified: string;
  readonly kind: SymbolKind;
  /** Line of the name; `startLine` and `endLine` span the whole definition. */
  readonly line: number;
  readonly startLine: number;
  readonly endLine: number;
  /** Can be named from other files. */
  readonly exported: boolean;
  /** Index in `definitions` of the enclosing one; -1 at the top level. */
  readonly parent: number;
  /** The type of its value, or of what a call returns, in the notation of `expression.ts`; empty where unknown. */
  readonly type: string;
  /** The types of its parameters in the same notation: `(<Store>,?)`; empty where all are unknown. */
  readonly parameters: string;
}

export type ReferenceKind = "call" | "type" | "inherit" | "import" | "read" | "write" | "decorate";

export interface Reference {
  readonly name: string;
  readonly kind: ReferenceKind;
  readonly line: number;
  /** The part before the dot: `store` of `store.open()`; empty for a plain name. */
  readonly receiver: string;
  /** Index in `definitions` of the innermost enclosing one; -1 at the top level. */
  readonly inside: number;
  /** Index in `definitions` of its target, where the scopes of this file decide it; otherwise -1. */
  readonly target: number;
  /** `receiver` with locals replaced by what is known of them, in the notation of `expression.ts`; empty for a plain name. */
  readonly via: string;
}

export interface Import {
  /** As written: `./store.ts`, `django.db.models`, `std::fmt`. */
  readonly source: string;
  /** Name in the other file; `*` for all of it, empty for the module itself. */
  readonly name: string;
  /** Name in this file; `*` for a wildcard import. */
  readonly local: string;
  readonly line: number;
  /** Exported again to files that import this one. An empty `source` then means a name of this file. */
  readonly exported: boolean;
}

/** The symbols of one file, before anything is resolved across files. Plain data: it is stored and sent between threads. */
export interface FileSymbols {
  readonly definitions: readonly Definition[];
  readonly references: readonly Reference[];
  readonly imports: readonly Import[];
  /** Package or namespace that the file declares; empty where it declares none. */
  readonly module: string;
}

export const NO_SYMBOLS: FileSymbols = { definitions: [], references: [], imports: [], module: "" };

/** Generated code may nest without end: longer names are cut to their innermost part. */
const MAX_QUALIFIED = 400;

/** A name with those of the enclosing definitions, joined by dots. */
export const qualify = (above: string | undefined, name: string): string => {
  const joined = above === undefined ? name : `${above}.${name}`;
  return joined.length > MAX_QUALIFIED ? name : joined;
};
