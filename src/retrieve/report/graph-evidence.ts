import type { Graph, Reached, SymbolAt } from "../../symbols/graph.ts";
import type { Evidence } from "./evidence.ts";
import type { Frame } from "./frames.ts";
import { nameMentions } from "./name-mentions.ts";
import type { Report } from "./read-report.ts";

/** A name with more definitions than this says nothing about any one of them. */
const MAX_DEFINITIONS = 40;

type IsMeant = (path: string) => boolean;

/** The line that a frame means: where its function is defined now, or else the line that the trace says. */
export const frameLine = (graph: Graph, path: string, { name, line }: Frame): number => {
  const parts = name.split(/[.#\\]|::|->/).filter((part) => /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(part));
  // Traces of many languages name the package, the module or the class before the function.
  for (const count of new Set([parts.length, 2, 1])) {
    if (count > parts.length || count === 0) continue;
    const found = graph.definitionsOf(`${path}:${parts.slice(-count).join(".")}`, MAX_DEFINITIONS);
    const near = found.toSorted((a, b) => Math.abs(a.line - line) - Math.abs(b.line - line));
    if (near[0] !== undefined) return near[0].line;
  }
  return line;
};

/** The files that define a name, each with its first definition of it. */
export const definingFiles = (graph: Graph, name: string, isMeant: IsMeant): readonly SymbolAt[] => {
  const files = new Map<string, SymbolAt>();
  for (const one of graph.definitionsOf(name, MAX_DEFINITIONS))
    if (isMeant(one.path) && !files.has(one.path)) files.set(one.path, one);
  return [...files.values()];
};

/** Files that define what title and prose name. Each gets less, the more of them there are. */
export const nameEvidence = (report: Report, graph: Graph, isMeant: IsMeant): readonly Evidence[] =>
  nameMentions(report).flatMap(({ name, emphasis, maxFiles }) => {
    const files = definingFiles(graph, name, isMeant);
    if (files.length > maxFiles) return [];
    return files.map(
      ({ path, line }): Evidence => ({
        kind: "name",
        path,
        line,
        strength: emphasis / files.length,
        reason: `defines ${name}`,
      }),
    );
  });

/**
 * Files that define what an example names, and what that calls. What everybody uses says little, so a module that the
 * example imports as a whole counts for nothing: with it, `npm run bench -- localisation` finds fewer files first.
 */
export const exampleEvidence = (reached: readonly Reached[], isMeant: IsMeant): readonly Evidence[] =>
  reached
    .filter(({ symbol }) => isMeant(symbol.path))
    .map(
      ({ symbol: { path, line, qualified }, step, confidence, rarity }): Evidence => ({
        kind: step === 0 ? "example" : "callee",
        path,
        line,
        strength: confidence * rarity,
        reason:
          step === 0
            ? `defines ${qualified}, used in the example`
            : `has ${qualified}, which the example leads to`,
      }),
    );

/** A file of tests, and how well it fits the report beside the best one. */
export interface FittingTest {
  readonly path: string;
  readonly fit: number;
}

/** Files that the tests import which resemble the report. A test of one module says more than one of everything. */
export const testEvidence = (
  tests: readonly FittingTest[],
  graph: Graph,
  isMeant: IsMeant,
): readonly Evidence[] =>
  tests.flatMap(({ path: test, fit }, rank) => {
    const imported = graph.importsOf(test).filter(isMeant);
    return imported.map(
      (path): Evidence => ({
        kind: "test",
        path,
        line: 0,
        strength: fit / (1 + rank) / Math.sqrt(imported.length),
        reason: `tested by ${test}`,
      }),
    );
  });
