import type { FileRecord } from "../project/family.ts";
import type { SymbolId, Table } from "../project/table.ts";
import type { Resolver } from "../resolve/resolver.ts";
import type { UseFinder } from "../resolve/uses.ts";
import type { Direction, Lineage, LineageEdge, LineageNode, LineageOptions } from "./answers.ts";
import { createCallEdges } from "./call-edges.ts";
import { describeFile, type FileLinks, findFile } from "./files.ts";
import { describe, findSymbols } from "./find-symbols.ts";
import { DEFAULT_CONFIDENCE, type FindMentions, NO_MENTIONS, nameIn } from "./mentions.ts";
import { suggest } from "./suggest.ts";

const DEFAULT_DEPTH = 2;
const MAX_DEPTH = 10;
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;
/** A name with more definitions than this is followed from the likeliest ones. */
const MAX_STARTS = 20;

/** Where a symbol is used, by calls or otherwise. */
const resolvedLines =
  ({ usesOf }: UseFinder) =>
  (symbol: SymbolId): readonly { readonly path: string; readonly line: number }[] =>
    usesOf(symbol)
      .filter(({ confidence }) => confidence >= DEFAULT_CONFIDENCE)
      .map(({ file, line }) => ({ path: file.path, line }));

/** The files that import a file, and those that it imports: one step, whatever the depth. */
const fileLineage = (
  file: FileRecord,
  { importersOf, importsOf }: FileLinks,
  direction: Direction,
  limit: number,
): Lineage => {
  const above = direction === "callees" ? [] : importersOf(file);
  const below = direction === "callers" ? [] : importsOf(file);
  const linked = [
    ...above.map((link) => ({ ...link, depth: -1 })),
    ...below.map((link) => ({ ...link, depth: 1 })),
  ];
  const shown = linked.slice(0, limit - 1);
  return {
    nodes: [
      { ...describeFile(file), depth: 0 },
      ...shown.map((link) => ({ ...describeFile(link.file), depth: link.depth })),
    ],
    edges: shown.map(({ depth, lines }, at) => ({
      from: depth < 0 ? at + 1 : 0,
      to: depth < 0 ? 0 : at + 1,
      lines,
      confidence: 1,
    })),
    truncated: shown.length < linked.length,
    mentions: NO_MENTIONS,
    suggestions: [],
  };
};

/** Callers and callees of a symbol, breadth first. Each symbol is a node only once, so cycles end. */
export const createLineage = (
  table: Table,
  resolver: Resolver,
  finder: UseFinder,
  links: FileLinks,
  mentionsOf: FindMentions,
) => {
  const edgesOf = createCallEdges(table, resolver, finder);
  return (query: string, options: LineageOptions = {}): Lineage => {
    const direction = options.direction ?? "both";
    const depth = Math.min(Math.max(1, options.depth ?? DEFAULT_DEPTH), MAX_DEPTH);
    const limit = Math.min(Math.max(1, options.limit ?? DEFAULT_LIMIT), MAX_LIMIT);
    const asked = findFile(table, query);
    if (asked !== undefined) return fileLineage(asked, links, direction, limit);
    const starts = findSymbols(table, query).slice(0, MAX_STARTS);
    if (starts.length === 0)
      return {
        nodes: [],
        edges: [],
        truncated: false,
        mentions: mentionsOf(nameIn(query), [], []),
        suggestions: suggest(table, query),
      };

    const one = resolver.oneOf;
    const nodes: LineageNode[] = [];
    const nodeOf = new Map<SymbolId, number>();
    const edges = new Map<string, { from: number; to: number; lines: Set<number>; confidence: number }>();
    let truncated = false;

    const addNode = (symbol: SymbolId, at: number): number | undefined => {
      const key = one(symbol);
      const known = nodeOf.get(key);
      if (known !== undefined) return known;
      const described = describe(table, symbol);
      if (described === undefined) return undefined;
      if (nodes.length >= limit) {
        truncated = true;
        return undefined;
      }
      nodeOf.set(key, nodes.length);
      nodes.push({ ...described, depth: at });
      return nodes.length - 1;
    };
    const follow = (sign: 1 | -1): void => {
      let edge: readonly SymbolId[] = starts;
      const seen = new Set<SymbolId>(starts.map(one));
      for (let step = 1; step <= depth && edge.length > 0; step++) {
        const next: SymbolId[] = [];
        for (const symbol of edge) {
          const here = nodeOf.get(one(symbol));
          if (here === undefined) continue;
          for (const { symbol: other, line, confidence } of sign < 0
            ? edgesOf.callersOf(symbol)
            : edgesOf.calleesOf(symbol)) {
            if (confidence < DEFAULT_CONFIDENCE) continue;
            const there = addNode(other, sign * step);
            if (there === undefined) continue;
            const [from, to] = sign < 0 ? [there, here] : [here, there];
            const key = `${from} ${to}`;
            const known = edges.get(key) ?? { from, to, lines: new Set<number>(), confidence };
            known.lines.add(line);
            known.confidence = Math.max(known.confidence, confidence);
            edges.set(key, known);
            if (!seen.has(one(other))) {
              seen.add(one(other));
              next.push(other);
            }
          }
        }
        edge = next;
      }
    };

    for (const start of starts) addNode(start, 0);
    if (direction !== "callees") follow(-1);
    if (direction !== "callers") follow(1);
    const listed: LineageEdge[] = [...edges.values()].map(({ lines, ...edge }) => ({
      ...edge,
      lines: [...lines].sort((a, b) => a - b),
    }));
    const mentions =
      direction === "callees"
        ? NO_MENTIONS
        : mentionsOf(nodes[0]?.name ?? "", starts, starts.flatMap(resolvedLines(finder)));
    return { nodes, edges: listed, truncated, mentions, suggestions: [] };
  };
};
