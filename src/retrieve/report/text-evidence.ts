import type { Evidence } from "./evidence.ts";
import { findPaths, mentionKey } from "./find-paths.ts";
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
    if (!PATH_TOKEN.test(path)) continue;
    const key = mentionKey(path.replaceAll("\\", "/"));
    // A later mention without a line takes nothing back.
    found.set(key, line || (found.get(key) ?? 0));
  }
  return [...found].map(([path, line]) => ({ path, line, isModule: false }));
};

const mentionedModules = (report: Report): readonly MentionedLine[] =>
  nameMentions(report)
    .filter(({ name }) => name.includes("."))
    .map(({ name }) => ({ path: mentionKey(name.replaceAll(".", "/")), line: 0, isModule: true }));

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

/** Deep recursion repeats a few names; a trace of more functions in one file is read in its own text. */
const MAX_NAMES = 12;

/** All frames in one file are one reason, the innermost first: whoever reads it must not take one for the only one. */
const reasonOf = (frames: readonly Frame[]): string => {
  const named = new Set(
    frames.map(({ name }) => name).filter((name) => name !== "" && !name.startsWith("<")),
  );
  return named.size === 0 ? "in the trace" : `in the trace: ${[...named].slice(0, MAX_NAMES).join(", ")}`;
};

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
  const byFile = Map.groupBy(
    frames.flatMap((frame) => (found.get(mentionKey(frame.path)) ?? []).map((path) => ({ path, frame }))),
    ({ path }) => path,
  );
  const reasons = new Map([...byFile].map(([path, own]) => [path, reasonOf(own.map(({ frame }) => frame))]));
  let depth = 0;
  return frames.flatMap((frame) => {
    const meant = found.get(mentionKey(frame.path)) ?? [];
    if (meant.length > 0) depth++;
    return meant.map(
      (path): Evidence => ({
        kind: "frame",
        path,
        line: lineOf(path, frame),
        strength: 1 / depth / meant.length,
        reason: reasons.get(path) ?? "in the trace",
      }),
    );
  });
};
