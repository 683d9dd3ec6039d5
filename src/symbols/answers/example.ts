import type { FileSymbols } from "../extract/file-symbols.ts";
import { familyOf } from "../languages/all.ts";
import type { FileRecord } from "../project/family.ts";
import { STRIDE } from "../project/references.ts";
import { isType, shapeOf } from "../project/shape.ts";
import { definitionOf, fileOf, type SymbolId, type Table } from "../project/table.ts";
import type { Resolver } from "../resolve/resolver.ts";
import { symbolsOf } from "../resolve/types.ts";
import type { UseFinder } from "../resolve/uses.ts";
import type { SymbolAt } from "./answers.ts";
import { CALLS } from "./call-edges.ts";
import { describe } from "./find-symbols.ts";

/** A definition that a piece of code leads to. */
export interface Reached {
  readonly symbol: SymbolAt;
  /** 0: the code names it; 1: what it calls calls it, and so on. */
  readonly step: number;
  readonly confidence: number;
  /** 0 to 1: how few files of the project name it. What everybody uses says nothing about a question. */
  readonly rarity: number;
}

/** No file of a workspace can have this path. */
const EXAMPLE_PATH = "\0example";
/** An example that names more is a program: its first names are what it is about. */
const MAX_NAMED = 64;
/** More calls than this of one definition say nothing about any one of them. */
const MAX_CALLEES = 24;
const MAX_REACHED = 400;
/** Below this, only the name fits, and several definitions have it. */
const MIN_CONFIDENCE = 0.5;

/** What runs when a class is called or an object is made, in the languages that name it. */
const CONSTRUCTORS = ["__init__", "__new__", "constructor", "initialize", "__construct", "init"];

const constructorsOf = (table: Table, symbol: SymbolId): readonly SymbolId[] => {
  const file = table.file(fileOf(symbol));
  const members = file === undefined ? undefined : shapeOf(file).members.get(definitionOf(symbol));
  if (file === undefined || members === undefined) return [];
  const first = symbol - definitionOf(symbol);
  return CONSTRUCTORS.flatMap((name) => members.get(name) ?? []).map((index) => first + index);
};

/** 0 where every file of the project names it, 1 where none does. */
export const rarityOf = (table: Table, name: string): number =>
  1 - Math.log(1 + table.mentioning.get(name).length) / Math.log(1 + Math.max(1, table.files.size));

const namedIn = (table: Table, resolver: Resolver, file: FileRecord): ReadonlyMap<SymbolId, number> => {
  const named = new Map<SymbolId, number>();
  const add = (symbols: readonly SymbolId[], confidence: number): void => {
    for (const id of symbols) {
      if (fileOf(id) === file.id || named.size >= MAX_NAMED) continue;
      named.set(id, Math.max(named.get(id) ?? 0, confidence));
    }
  };
  for (let at = 0; at < file.references.length; at += STRIDE) {
    const { symbols, confidence } = resolver.resolve(file, table.reference(file, at));
    if (confidence >= MIN_CONFIDENCE) add(symbols, confidence);
  }
  for (const entry of file.imports) add(symbolsOf(resolver.names.imported(file, entry)), 1);
  return named;
};

/** What the definition runs: of a class, its constructors. */
const callsOf = (
  table: Table,
  finder: UseFinder,
  symbol: SymbolId,
): readonly { readonly symbol: SymbolId; readonly confidence: number }[] => {
  const bodies = isType(table.definition(symbol)) ? constructorsOf(table, symbol) : [symbol];
  const calls = bodies.flatMap((body) => finder.usedBy(body, CALLS));
  const distinct = new Map(calls.map((call) => [call.symbol, call]));
  return distinct.size > MAX_CALLEES ? [] : [...distinct.values()];
};

/**
 * Resolves a piece of code as if it were a file of the project, and follows its calls: what somebody's example means, by
 * step, in the order in which the code names it.
 */
export const createExampleMeaning =
  (table: Table, resolver: Resolver, finder: UseFinder) =>
  (language: string, symbols: FileSymbols, maxSteps: number): readonly Reached[] => {
    table.put(EXAMPLE_PATH, language, familyOf(language), symbols);
    let named: ReadonlyMap<SymbolId, number>;
    try {
      const file = table.byPath(EXAMPLE_PATH);
      named = file === undefined ? new Map() : namedIn(table, resolver, file);
    } finally {
      table.remove(EXAMPLE_PATH);
    }
    const reached = new Map([...named].map(([id, confidence]) => [id, { step: 0, confidence }]));
    let last = [...reached];
    for (let step = 1; step <= maxSteps; step++) {
      const next: typeof last = [];
      for (const [id, from] of last) {
        const calls = callsOf(table, finder, id);
        // One of many calls is hardly meant.
        const share = 1 / Math.sqrt(calls.length);
        for (const call of calls) {
          if (reached.has(call.symbol) || reached.size >= MAX_REACHED) continue;
          const one = { step, confidence: from.confidence * call.confidence * share };
          reached.set(call.symbol, one);
          next.push([call.symbol, one]);
        }
      }
      last = next;
    }
    return [...reached].flatMap(([id, one]) => {
      const symbol = describe(table, id);
      return symbol === undefined ? [] : [{ symbol, rarity: rarityOf(table, symbol.name), ...one }];
    });
  };
