import type { Evidence } from "./evidence.ts";
import { findPaths } from "./find-paths.ts";
import type { Frame } from "./frames.ts";
import { nameMentions } from "./name-mentions.ts";
import type { Report } from "./read-report.ts";

/** `path/to/file.py`, with a line after it or not, between spaces, quotes and brackets. */
const SEPARATORS = /[\s"'`()<>[\]{},;|=*]+/;
const PATH_TOKEN = /^[\w.~@+:/\\-]*[\w+-]\.[A-Za-z]\w{0,5}$/;
const LINE_SUFFIX = /(?::|#L)(\d+)(?:[-:]L?\d+)?$/;
const MAX_PATHS = 200;

interface MentionedLine {
  readonly path: string;
  readonly line: number;
  readonly isModule: boolean;
}

const mentionedPaths = ({ title, prose, examples, output }: Report): readonly MentionedLine[] => {
  const found = new Map<string, number>();
  const text = [title, prose, ...examples.map((example) => example.text), output].join("\n");
  for (const written of text.split(SEPARATORS)) {
    if (found.size >= MAX_PATHS) break;
    const token = written.replace(/(?<![.:?!])[.:?!]+$/, "");
    const line = Number(LINE_SUFFIX.exec(token)?.[1] ?? 0);
    const path = token.replace(LINE_SUFFIX, "");
    if (PATH_TOKEN.test(path)) found.set(path.replaceAll("\\", "/"), line);
  }
  return [...found].map(([path, line]) => ({ path, line, isModule: false }));
};

const mentionedModules = (report: Report): readonly MentionedLine[] =>
  nameMentions(report)
    .filter(({ name }) => name.includes("."))
    .map(({ name }) => ({ path: name.replaceAll(".", "/"), line: 0, isModule: true }));

/** Files that the report names by their path, or by the name of their module: `package.module`. */
export const pathEvidence = (report: Report, files: readonly string[]): readonly Evidence[] => {
  const mentioned = [...mentionedPaths(report), ...mentionedModules(report)];
  const found = findPaths(mentioned, files);
  return mentioned.flatMap(({ path, line }) => {
    const meant = found.get(path) ?? [];
    return meant.map(
      (file): Evidence => ({
        kind: "path",
        path: file,
        line,
        strength: 1 / meant.length,
        reason: "named in the report",
      }),
    );
  });
};

const reasonOf = ({ name }: Frame): string =>
  name === "" || name.startsWith("<") ? "in the trace" : `in the trace: ${name}`;

/**
 * Files in the traces: the innermost that is of this project counts most.
 * @param lineOf where the function of a frame is now: the trace may be of another version
 */
export const frameEvidence = (
  { frames }: Report,
  files: readonly string[],
  lineOf: (path: string, frame: Frame) => number,
): readonly Evidence[] => {
  const found = findPaths(frames, files);
  let depth = 0;
  return frames.flatMap((frame) => {
    const meant = found.get(frame.path) ?? [];
    if (meant.length > 0) depth++;
    return meant.map(
      (path): Evidence => ({
        kind: "frame",
        path,
        line: lineOf(path, frame),
        strength: 1 / depth / meant.length,
        reason: reasonOf(frame),
      }),
    );
  });
};
