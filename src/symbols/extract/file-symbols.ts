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
  | "macro";

export interface Definition {
  readonly name: string;
  /** With the definitions around it, joined by dots. */
  readonly qualified: string;
  readonly kind: SymbolKind;
  /** Line of the name; the span is the whole definition. */
  readonly line: number;
  readonly startLine: number;
  readonly endLine: number;
  /** Can be named from other files. */
  readonly exported: boolean;
  /** Index in `definitions` of the one around it; -1 at the top of the file. */
  readonly parent: number;
  /** What its value is, or what a call of it gives, in the notation of `expression.ts`; empty where nothing says so. */
  readonly type: string;
  /** What its parameters are, in the same notation: `(<Store>,?)`; empty where that tells nothing. */
  readonly parameters: string;
}

export type ReferenceKind = "call" | "type" | "inherit" | "import" | "read" | "write" | "decorate";

export interface Reference {
  readonly name: string;
  readonly kind: ReferenceKind;
  readonly line: number;
  /** What stands before the dot: `store` of `store.open()`; empty for a plain name. */
  readonly receiver: string;
  /** Index in `definitions` of the innermost one that holds it; -1 for the file itself. */
  readonly inside: number;
  /** Index in `definitions` of what it means, where the scopes of this file decide it; otherwise -1. */
  readonly target: number;
  /** `receiver` with locals replaced by what is known of them, in the notation of `expression.ts`; empty for a plain name. */
  readonly via: string;
}

export interface Import {
  /** As written: `./store.ts`, `django.db.models`, `std::fmt`. */
  readonly source: string;
  /** Name in the other file; `*` for all of it, empty for the module itself. */
  readonly name: string;
  /** Name in this file; `*` where every name comes in. */
  readonly local: string;
  readonly line: number;
  /** Handed on to those who import this file. An empty `source` then means a name of this file. */
  readonly exported: boolean;
}

/** What one file says about symbols, before anything is resolved across files. Plain data: it is stored and sent between threads. */
export interface FileSymbols {
  readonly definitions: readonly Definition[];
  readonly references: readonly Reference[];
  readonly imports: readonly Import[];
  /** Package or namespace that the file says it belongs to; empty where it says none. */
  readonly module: string;
}

export const NO_SYMBOLS: FileSymbols = { definitions: [], references: [], imports: [], module: "" };

/** Machine-made nesting must not multiply names: the innermost part then stands alone. */
const MAX_QUALIFIED = 400;

/** Name with those around it, joined by dots. */
export const qualify = (above: string | undefined, name: string): string => {
  const joined = above === undefined ? name : `${above}.${name}`;
  return joined.length > MAX_QUALIFIED ? name : joined;
};
