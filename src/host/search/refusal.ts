import { LlmcError } from "../../base/error.ts";
import { ellipsize } from "../../base/text.ts";

const MAX_CHARS = 300;
/** Shown on either side of the position. */
const AROUND = 20;

/** The first parenthesis without its other half; ripgrep puts the pattern in its own and then points at those. */
const findUnbalanced = (pattern: string): number | undefined => {
  const open: number[] = [];
  let classStart = -1;
  for (let i = 0; i < pattern.length; i++) {
    const letter = pattern[i];
    if (letter === "\\") i++;
    else if (classStart >= 0) {
      if (letter === "]" && i > classStart + 1) classStart = -1;
    } else if (letter === "[") classStart = i;
    else if (letter === "(") open.push(i);
    else if (letter === ")" && open.pop() === undefined) return i;
  }
  return open.at(-1);
};

/** Counted from 0 in characters of the pattern, from the caret that stands below it. */
const findPosition = (lines: readonly string[], pattern: string): number | undefined => {
  const caret = lines.findIndex((line) => /^\s+\^+$/.test(line));
  const shown = lines[caret - 1];
  if (shown === undefined) return undefined;
  const wrapper = shown.indexOf(pattern);
  const at = (lines[caret] ?? "").indexOf("^") - wrapper;
  const isInside = wrapper >= 0 && at >= 0 && at < [...pattern].length;
  return isInside ? at : undefined;
};

const pointAt = (pattern: string, position: number | undefined): string => {
  if (position === undefined) return "";
  const letters = [...pattern];
  const start = Math.max(0, position - AROUND);
  const excerpt = letters.slice(start, position + AROUND).join("");
  return `, at character ${position + 1}: ${start > 0 ? "…" : ""}${excerpt}${
    position + AROUND < letters.length ? "…" : ""
  }`;
};

const invalid = (field: string, message: string, hint: string): LlmcError =>
  new LlmcError("invalid_args", ellipsize(message, MAX_CHARS), { hint, details: { field } });

const explainRegex = (complaint: string, pattern: string): LlmcError => {
  const lines = complaint.split("\n");
  const why = /^error: (.*)$/m.exec(complaint)?.[1] ?? "it cannot be parsed";
  const isUnbalanced = /un(closed|opened) group/.test(why);
  const position = isUnbalanced ? findUnbalanced(pattern) : findPosition(lines, pattern);
  const hint = /not supported/.test(why)
    ? "Write it without look-around and back-references, or search for literal text."
    : "Correct it, or search for literal text.";
  return invalid("pattern", `The pattern is not a valid regex: ${why}${pointAt(pattern, position)}`, hint);
};

/** Translates ripgrep's complaint, made before it searched anything, into an error without paths. */
export const explainComplaint = (stderr: string, pattern: string): LlmcError => {
  const complaint = stderr.replace(/^rg: /, "").trim();
  if (complaint.startsWith("regex parse error")) return explainRegex(complaint, pattern);
  if (complaint.includes("size limit")) {
    return invalid("pattern", "The pattern is too large once compiled.", "Use smaller counts of repetition.");
  }
  const glob = /error parsing glob .*: (.*)/.exec(complaint)?.[1];
  if (glob !== undefined) return invalid("file_glob", `The file glob is not valid: ${glob}.`, "Correct it.");
  const [firstLine = ""] = complaint.split("\n");
  return invalid(
    "pattern",
    `The search is not possible: ${firstLine.replaceAll(/\.?\/\S*/g, "…")}`,
    "Try another pattern.",
  );
};
