import type { ReferenceKind, SymbolKind } from "../extract/file-symbols.ts";

/** A definition as an answer names it. */
export interface SymbolAt {
  readonly name: string;
  /** With the names of the enclosing definitions, joined by dots. */
  readonly qualified: string;
  readonly kind: SymbolKind;
  readonly path: string;
  /** Line of the name, counted from 1; `startLine` and `endLine` span the whole definition. */
  readonly line: number;
  readonly startLine: number;
  readonly endLine: number;
  readonly exported: boolean;
}

export interface Use {
  readonly path: string;
  readonly line: number;
  readonly kind: ReferenceKind;
  /** Qualified name of the definition that holds it; empty at the top of the file. */
  readonly inside: string;
  /** 1: scopes and imports decide it; about 0.9: a known type does; 0.5 and less: only the name fits. */
  readonly confidence: number;
  /** Which of `definitions` it means. */
  readonly definition: number;
}

/** Lines of a file that name something without being resolved. */
export interface MentionedIn {
  readonly path: string;
  readonly count: number;
  /** The first of them. */
  readonly lines: readonly number[];
}

/**
 * What the text says beside what is resolved: lines of code that have the name as a whole word, without those that define
 * it or mean another symbol of that name. Strings count, lines of comments do not.
 */
export interface Mentions {
  /** Lines that are resolved, and those that are not. */
  readonly total: number;
  readonly unresolved: number;
  /** Files with unresolved lines, those with most of them first; only the first few are here. */
  readonly files: readonly MentionedIn[];
  /** So many files have the name that not all of them were read. */
  readonly isCut: boolean;
}

export interface Usages {
  /** What the query may mean, the likeliest first; more than one where it is ambiguous. */
  readonly definitions: readonly SymbolAt[];
  /** By path and line. */
  readonly uses: readonly Use[];
  /** Number of uses that were found, which may be more than are listed. */
  readonly total: number;
  readonly mentions: Mentions;
  /** Similar names, where nothing has this one. */
  readonly suggestions: readonly string[];
}

export interface UsageOptions {
  /** 200 by default. */
  readonly limit?: number;
}

export type Direction = "callers" | "callees" | "both";

export interface LineageOptions {
  readonly direction?: Direction;
  /** Steps from the symbol: 1 to 10; 2 by default. */
  readonly depth?: number;
  /** Number of nodes; 100 by default. */
  readonly limit?: number;
}

export interface LineageNode extends SymbolAt {
  /** Steps from the symbol that was asked for: negative towards callers. */
  readonly depth: number;
}

/** `from` calls `to`; both are indexes in `nodes`. */
export interface LineageEdge {
  readonly from: number;
  readonly to: number;
  /** Lines of the calls, in the file of `from`. */
  readonly lines: readonly number[];
  readonly confidence: number;
}

export interface Lineage {
  /** The symbols that were asked for come first, with depth 0. */
  readonly nodes: readonly LineageNode[];
  readonly edges: readonly LineageEdge[];
  /** Nodes were left out because of the limit. */
  readonly truncated: boolean;
  /** Of the symbol's name beside its resolved uses; nothing where only callees were asked for. */
  readonly mentions: Mentions;
  readonly suggestions: readonly string[];
}

export interface Neighbour extends SymbolAt {
  readonly confidence: number;
}

export interface SymbolCard {
  readonly definition: SymbolAt;
  /** First lines of the definition up to its body; empty where the text cannot be read. */
  readonly signature: string;
  readonly doc: string;
  /** What it inherits from. */
  readonly parents: readonly Neighbour[];
  /** What inherits from it. */
  readonly children: readonly Neighbour[];
  readonly members: readonly SymbolAt[];
  readonly callers: readonly Neighbour[];
  readonly callees: readonly Neighbour[];
  /** Uses in test files. */
  readonly tests: readonly { readonly path: string; readonly line: number; readonly inside: string }[];
  /** All uses. */
  readonly useCount: number;
  readonly mentions: Mentions;
}

export interface FileCard {
  readonly path: string;
  readonly language: string;
  readonly definitions: readonly SymbolAt[];
  /** Files of the project that it imports, and those that import it. */
  readonly imports: readonly string[];
  readonly importedBy: readonly string[];
  /** What it imports from elsewhere, as written. */
  readonly packages: readonly string[];
  readonly tests: readonly string[];
}

export interface InspectOptions {
  /** Whether the text is searched for mentions, too, which reads every file that has the name; true by default. */
  readonly mentions?: boolean;
}

export interface Inspection {
  /** The definitions that the query names, the likeliest first; only the first few are here. */
  readonly symbols: readonly SymbolCard[];
  /** Everything that the query may mean. */
  readonly candidates: readonly SymbolAt[];
  /** The file that the query names, if any. */
  readonly file: FileCard | undefined;
  /** Of a name that nothing has. */
  readonly mentions: Mentions;
  readonly suggestions: readonly string[];
}

export interface GraphStats {
  readonly files: number;
  readonly definitions: number;
  readonly references: number;
  readonly imports: number;
  readonly languages: Readonly<Record<string, number>>;
}
