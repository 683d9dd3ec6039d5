import type { Graph } from "../../symbols/graph.ts";
import type { Evidence } from "./evidence.ts";
import { definingFiles } from "./graph-evidence.ts";
import { nameMentions } from "./name-mentions.ts";
import { readReport } from "./read-report.ts";
import { pathEvidence } from "./text-evidence.ts";

/** A part of a document that resembles the report. */
export interface FittingDocument {
  readonly path: string;
  readonly text: string;
}

/** A name that more files define is that of something common. */
const MAX_FILES = 2;

/** Files that documents name which resemble the report, by their path or by what they define. */
export const documentEvidence = (
  /** The best first. */
  documents: readonly FittingDocument[],
  graph: Graph,
  files: readonly string[],
  isMeant: (path: string) => boolean,
): readonly Evidence[] =>
  documents.flatMap(({ path: document, text }, rank) => {
    const read = readReport(text);
    const meant = new Map(pathEvidence(read, files).map(({ path, line }) => [path, line]));
    for (const { name } of nameMentions(read)) {
      const found = definingFiles(graph, name, isMeant);
      if (found.length <= MAX_FILES) for (const { path, line } of found) meant.set(path, line);
    }
    return [...meant].map(
      ([path, line]): Evidence => ({
        kind: "document",
        path,
        line,
        // A page about one file says more than one about everything.
        strength: 1 / (1 + rank) / Math.sqrt(meant.size),
        reason: `named in ${document}`,
      }),
    );
  });
