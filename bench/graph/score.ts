import type { Definition, FileSymbols } from "../../src/symbols/extract/file-symbols.ts";
import type { Graph } from "../../src/symbols/graph.ts";
import type { OracleAnswer, OracleLocation } from "./oracle.ts";

export interface Score {
  readonly right: number;
  readonly predicted: number;
  readonly expected: number;
  readonly precision: number;
  readonly recall: number;
}

export interface Difference {
  readonly kind: "missing" | "wrong" | "unjudged";
  readonly symbol: string;
  readonly at: string;
}

const scoreOf = (predicted: ReadonlySet<string>, expected: ReadonlySet<string>): Score => {
  let right = 0;
  for (const key of predicted) if (expected.has(key)) right++;
  return {
    right,
    predicted: predicted.size,
    expected: expected.size,
    precision: predicted.size === 0 ? 1 : right / predicted.size,
    recall: expected.size === 0 ? 1 : right / expected.size,
  };
};

/** Constants hold functions, and a property of Python is read like a field. */
const COUNTED = new Set(["function", "method", "class", "interface", "type", "enum", "constant", "field"]);

const key = ({ path, line, name }: OracleLocation): string => `${path}:${line}:${name}`;

interface Files {
  readonly symbols: ReadonlyMap<string, FileSymbols>;
}

/** Overloads and merged declarations are one symbol: all of them stand under the first. */
const createOnes = ({ symbols }: Files) => {
  const first = new Map<string, string>();
  for (const [path, { definitions }] of symbols) {
    const seen = new Map<string, string>();
    for (const { name, qualified, line } of definitions) {
      const location = key({ path, line, name });
      const known = seen.get(qualified);
      if (known === undefined) seen.set(qualified, location);
      first.set(location, known ?? location);
    }
  }
  return (location: OracleLocation): string => first.get(key(location)) ?? key(location);
};

/** The outermost function or the method of a class that a definition is part of, as the oracle counts callers. */
const callerOf = (definitions: readonly Definition[], index: number): Definition | undefined => {
  if (/^(?:class|interface|enum|type|module)$/.test(definitions[index]?.kind ?? "")) return undefined;
  let found: Definition | undefined;
  for (let at = index; at >= 0; at = definitions[at]?.parent ?? -1) {
    const definition = definitions[at];
    if (definition === undefined) break;
    const holder = definitions[definition.parent];
    if (holder?.kind === "class" || holder?.kind === "enum" || holder?.kind === "interface")
      return definition;
    // A method that is assigned to a prototype stands outside of the function that it belongs to.
    if (holder?.kind === "function" && definition.kind === "method" && definition.startLine > holder.endLine)
      return definition;
    if (definition.kind === "function" || definition.kind === "method") found = definition;
  }
  return found;
};

/** Uses of every definition, and call edges between definitions, beside those of the oracle. */
export const compare = (graph: Graph, files: Files, oracle: OracleAnswer) => {
  const one = createOnes(files);
  const expectedUses = new Set<string>();
  const expectedEdges = new Set<string>();
  const isUnknown = createIsUnknown(oracle, one);
  const declared = new Set(oracle.definitions.map((location) => `${location.path}:${location.line}`));
  for (const { path, line, target, caller } of oracle.uses) {
    expectedUses.add(`${one(target)} <- ${path}:${line}`);
    if (caller !== undefined) expectedEdges.add(`${one(caller)} -> ${one(target)}`);
  }
  const ones = new Set(oracle.definitions.map(one));
  const counted = new Set(ones);
  const predictedUses = new Set<string>();
  const predictedEdges = new Set<string>();
  const unjudgedEdges = new Set<string>();
  let known = 0;
  for (const [path, { definitions }] of files.symbols)
    for (const [index, definition] of definitions.entries()) {
      const location = { path, line: definition.line, name: definition.name };
      const self = one(location);
      if (counted.has(self)) {
        known += counted.delete(self) ? 1 : 0;
        if (self === key(location) && COUNTED.has(definition.kind)) {
          const answer = graph.whereUsed(`${path}:${definition.qualified}`, {
            limit: Number.MAX_SAFE_INTEGER,
          });
          // `run` asks for `Task.run` of the same file too.
          for (const use of answer.uses) {
            const meant = answer.definitions[use.definition];
            if (meant !== undefined && one(meant) === self)
              predictedUses.add(`${self} <- ${use.path}:${use.line}`);
          }
        }
      }
      const caller = callerOf(definitions, index);
      if (caller === undefined) continue;
      const lineage = graph.lineage(`${path}:${definition.qualified}`, {
        direction: "callees",
        depth: 1,
        limit: 1000,
      });
      for (const { from, to, lines } of lineage.edges) {
        const source = lineage.nodes[from];
        const target = lineage.nodes[to];
        if (source === undefined || target === undefined || one(source) !== self) continue;
        // Of overloads, an oracle may name only the last.
        if (!declared.has(`${target.path}:${target.line}`) && !ones.has(one(target))) continue;
        const edge = `${one({ path, line: caller.line, name: caller.name })} -> ${one(target)}`;
        predictedEdges.add(edge);
        if (lines.every((line) => isUnknown(`${one(target)} <- ${path}:${line}`))) unjudgedEdges.add(edge);
      }
    }
  const differences: Difference[] = [
    ...[...expectedUses]
      .filter((entry) => !predictedUses.has(entry))
      .map((entry) => difference("missing", entry)),
    ...[...predictedUses]
      .filter((entry) => !expectedUses.has(entry))
      .map((entry) => difference(isUnknown(entry) ? "unjudged" : "wrong", entry)),
  ];
  const judged = new Set([...predictedUses].filter((entry) => !isUnknown(entry)));
  return {
    definitions: { known, expected: ones.size },
    uses: scoreOf(predictedUses, expectedUses),
    /** The same without answers on names of which the compiler says nothing. */
    judged: scoreOf(judged, expectedUses),
    edges: scoreOf(predictedEdges, expectedEdges),
    judgedEdges: scoreOf(
      new Set([...predictedEdges].filter((edge) => expectedEdges.has(edge) || !unjudgedEdges.has(edge))),
      expectedEdges,
    ),
    differences,
    edgeDifferences: [
      ...[...expectedEdges].filter((entry) => !predictedEdges.has(entry)).map((entry) => `missing ${entry}`),
      ...[...predictedEdges]
        .filter((entry) => !expectedEdges.has(entry))
        .map((entry) => `${unjudgedEdges.has(entry) ? "unjudged" : "wrong"} ${entry}`),
    ],
  };
};

/** Whether the compiler says nothing about `path:line:name <- path:line`, by any name that the symbol has somewhere. */
const createIsUnknown = ({ unknown, uses }: OracleAnswer, one: (location: OracleLocation) => string) => {
  const names = new Map<string, Set<string>>();
  if (unknown !== undefined)
    for (const { target, name = target.name } of uses)
      names.set(one(target), (names.get(one(target)) ?? new Set([target.name])).add(name));
  return (entry: string): boolean => {
    const [symbol = "", at = ""] = entry.split(" <- ");
    const known = names.get(symbol) ?? [symbol.slice(symbol.lastIndexOf(":") + 1)];
    return [...known].some((name) => unknown?.has(`${at}:${name}`) === true);
  };
};

const difference = (kind: Difference["kind"], entry: string): Difference => {
  const [symbol = "", at = ""] = entry.split(" <- ");
  return { kind, symbol, at };
};
