import type { Definition } from "../extract/file-symbols.ts";

const MAX_SIGNATURE_LINES = 8;
const MAX_DOC_LINES = 40;

/** First lines of a definition up to where its body begins. */
export const signatureOf = (lines: readonly string[], definition: Definition): string => {
  const found: string[] = [];
  const last = Math.min(definition.endLine, definition.line + MAX_SIGNATURE_LINES - 1);
  for (let line = definition.line; line <= last; line++) {
    const text = lines[line - 1] ?? "";
    found.push(text.trimEnd());
    if (
      /[{;:]\s*$|=>\s*$|\bdo\s*$|=\s*$/.test(text.trimEnd()) ||
      (/\)[^(]*$/.test(text) && !/,\s*$/.test(text))
    )
      break;
  }
  return dedent(found)
    .replace(/\s*\{\s*$/, "")
    .trim();
};

const dedent = (lines: readonly string[]): string => {
  const indent = Math.min(
    ...lines.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length),
  );
  return lines.map((line) => line.slice(Number.isFinite(indent) ? indent : 0)).join("\n");
};

const COMMENT_LINE = /^\s*(?:\/\/|#(?!\[|include|define|if|endif|pragma)|--|\*|\/\*|;;|%%)/;

const plain = (line: string): string =>
  line
    .replace(/^\s*(?:\/\/[/!]?|#+|--+|\/\*\*?|\*\/|\*(?!\/)|;;+|%%+)\s?/, "")
    .replace(/\s*\*\/\s*$/, "")
    .trimEnd();

/** Text of a Python docstring that opens on this line. */
const docstring = (lines: readonly string[], from: number, last: number): string => {
  const opening = /^\s*[rRuUbB]{0,2}("""|'''|"|')(.*)$/.exec(lines[from - 1] ?? "");
  if (opening === null) return "";
  const [, quote = "", rest = ""] = opening;
  const close = rest.indexOf(quote);
  if (close >= 0) return rest.slice(0, close).trim();
  if (quote.length === 1) return "";
  const found = [rest];
  for (let line = from + 1; line <= Math.min(last, from + MAX_DOC_LINES); line++) {
    const text = lines[line - 1] ?? "";
    const end = text.indexOf(quote);
    found.push(end >= 0 ? text.slice(0, end) : text);
    if (end >= 0) break;
  }
  const [head = "", ...body] = found;
  return [head.trim(), dedent(body)].join("\n").trim();
};

/** The comment directly above a definition, or the docstring at the start of its body. */
export const docOf = (lines: readonly string[], definition: Definition, hasDocstrings: boolean): string => {
  if (hasDocstrings) {
    for (let line = definition.line; line <= Math.min(definition.endLine, definition.line + 30); line++) {
      if (!/:\s*(?:#.*)?$/.test(lines[line - 1] ?? "")) continue;
      let next = line + 1;
      while (next <= definition.endLine && (lines[next - 1] ?? "").trim() === "") next++;
      const found = docstring(lines, next, definition.endLine);
      if (found !== "") return found;
      break;
    }
  }
  const found: string[] = [];
  let line = definition.startLine - 1;
  // Decorators and attributes may come in between.
  while (line > 0 && /^\s*(?:@|#\[)/.test(lines[line - 1] ?? "")) line--;
  for (; line > 0 && found.length < MAX_DOC_LINES; line--) {
    const text = lines[line - 1] ?? "";
    if (!COMMENT_LINE.test(text) && !/\*\/\s*$/.test(text)) break;
    found.unshift(plain(text));
    if (/^\s*\/\*/.test(text)) break;
  }
  return found.join("\n").trim();
};
