import type { Evidence } from "./evidence.ts";
import { findPaths } from "./find-paths.ts";
import { nameMentions } from "./name-mentions.ts";
import type { Report } from "./read-report.ts";

/** `path/to/file.py`, with a line after it or not, between spaces, quotes and brackets. */
const SEPARATORS = /[\s"'`()<>[\]{},;|=*]+/;
const PATH_TOKEN = /^[\w.~@+:/\\-]*[\w+-]\.[A-Za-z]\w{0,5}$/;
const LINE_SUFFIX = /(?::|#L)(\d+)(?:[-:]L?\d+)?:?$/;
const MAX_PATHS = 200;

interface MentionedPath {
  readonly path: string;
  readonly line: number;
}

const mentionedPaths = ({ title, prose, examples, output }: Report): readonly MentionedPath[] => {
  const found = new Map<string, number>();
  for (const token of [title, prose, ...examples.map(({ text }) => text), output]
    .join("\n")
    .split(SEPARATORS)) {
    if (found.size >= MAX_PATHS) break;
    const line = Number(LINE_SUFFIX.exec(token)?.[1] ?? 0);
    const path = token.replace(LINE_SUFFIX, "").replace(/[.:]+$/, "");
    if (PATH_TOKEN.test(path)) found.set(path, found.get(path) ?? line);
  }
  return [...found].map(([path, line]) => ({ path, line }));
};

/** Files that the report names by their path, or by the name of their module: `package.module`. */
export const pathEvidence = (report: Report, files: readonly string[]): readonly Evidence[] => {
  const paths = mentionedPaths(report);
  const modules = nameMentions(report)
    .filter(({ name }) => name.includes("."))
    .map(({ name }) => ({ path: name.replaceAll(".", "/"), line: 0 }));
  const all = [...paths, ...modules];
  const found = findPaths(
    all.map(({ path }) => path),
    files,
  );
  return all.flatMap(({ path, line }) => {
    const meant = found.get(path) ?? [];
    return meant.map(
      (file): Evidence => ({
        kind: "path",
        path: file,
        line,
        strength: 1 / meant.length,
        reason: "named by its path",
      }),
    );
  });
};

/** Files in the traces: the innermost that is of this project counts most. */
export const frameEvidence = ({ frames }: Report, files: readonly string[]): readonly Evidence[] => {
  const found = findPaths(
    frames.map(({ path }) => path),
    files,
  );
  let depth = 0;
  return frames.flatMap(({ path, line, name }) => {
    const meant = found.get(path) ?? [];
    if (meant.length > 0) depth++;
    return meant.map(
      (file): Evidence => ({
        kind: "frame",
        path: file,
        line,
        strength: 1 / depth / meant.length,
        reason: `in the trace${name === "" || name.startsWith("<") ? "" : `: ${name}`}`,
      }),
    );
  });
};
