import { languageOf } from "./languages.ts";

/** How many characters decide. */
const HEAD_CHARS = 20_000;
/** Lines that only this language has, before a text counts as code of it: prose quotes a line or two. */
const MIN_LINES = 3;

/** How a text of a language begins. */
const BEGINNINGS: readonly (readonly [RegExp, string])[] = [
  [/^\uFEFF?\s*<\?php\b/, "php"],
  [/^\uFEFF?\s*<\?xml\b/, "xml"],
  [/^\uFEFF?\s*<(?:!doctype html|html)\b/i, "html"],
  [/^\uFEFF?\s*[{[]\s*(?:"[^"\n]*"\s*[:,]|[{[\]}])/, "json"],
];

/** Lines that stand in one language and in no other of these, without the blanks around them. */
const LINES: readonly (readonly [RegExp, string])[] = [
  [/^(?:(?:async )?def \w+\(.*|class \w+.*:|from [\w.]+ import .+|if __name__ == .+)$/, "python"],
  [
    /^(?:export )?(?:interface \w+.*\{|type \w+ = .*|(?:export )?(?:const|function) \w+.*: \w+.*)$/,
    "typescript",
  ],
  [
    /^(?:import .* from ["'].+["'];?|export (?:const|function|class|default) .*|(?:const|let) .+ = .*|(?:async )?function \w+\(.*|module\.exports.*)$/,
    "javascript",
  ],
  [/^(?:package \w+|func .*\{|type \w+ (?:struct|interface) \{|import \()$/, "go"],
  [/^(?:pub(?:\(\w+\))? )?(?:fn \w+.*|struct \w+.*|enum \w+.*\{|impl\b.*\{|use [\w:{}, ]+;)$/, "rust"],
  [/^(?:package [\w.]+;|import (?:static )?[\w.*]+;|(?:public|private|protected) .*[;{])$/, "java"],
  [/^#\s*include\s+[<"].+[>"]$/, "c"],
];

/** A longer line says nothing about the language, and some patterns try each of its characters with each other one. */
const MAX_LINE_CHARS = 300;

/** The language of a text that came without a name: by its first line, or by lines that are typical; undefined for prose. */
export const detectLanguage = (text: string): string | undefined => {
  const head = text.slice(0, HEAD_CHARS);
  const { id } = languageOf("", head);
  if (id !== "text") return id;
  const begins = BEGINNINGS.find(([pattern]) => pattern.test(head));
  if (begins !== undefined) return begins[1];
  const lines = head
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && line.length <= MAX_LINE_CHARS);
  const [best] = LINES.map(([pattern, name]) => ({
    name,
    lines: lines.filter((line) => pattern.test(line)).length,
  })).sort((a, b) => b.lines - a.lines);
  return best !== undefined && best.lines >= MIN_LINES ? best.name : undefined;
};
