import { type Block, type Heading, plainTitle, rowText, type Structure } from "./headings.ts";
import type { Lines } from "./lines.ts";

/** Headings that are marked within one row. */
const byPattern =
  (pattern: RegExp, levelOf: (mark: string) => number) =>
  (lines: Lines): Structure => {
    const headings: Heading[] = [];
    for (let row = 0; row < lines.count; row++) {
      const found = pattern.exec(rowText(lines, row));
      const title = plainTitle(found?.[2] ?? "");
      if (found !== null && title !== "")
        headings.push({ row, endRow: row, level: levelOf(found[1] ?? ""), title });
    }
    return { headings, blocks: [] };
  };

const LATEX_LEVELS = ["part", "chapter", "section", "subsection", "subsubsection", "paragraph"];

const UNDERLINE = /^([=\-`:.'"~^_*+#<>])\1{2,}\s*$/;

/** reStructuredText: the level of an underline character is the order of its first use. */
const rstStructure = (lines: Lines): Structure => {
  const headings: Heading[] = [];
  const blocks: Block[] = [];
  const marks: string[] = [];
  for (let row = 0; row + 1 < lines.count; row++) {
    const title = rowText(lines, row);
    const mark = UNDERLINE.exec(rowText(lines, row + 1))?.[1];
    if (mark !== undefined && title.trim() !== "" && !UNDERLINE.test(title) && lines.indent(row + 1) === 0) {
      const over = row > 0 && UNDERLINE.exec(rowText(lines, row - 1))?.[1] === mark;
      if (lines.indent(row) > 0 && !over) continue;
      const key = over ? `${mark}${mark}` : mark;
      if (!marks.includes(key)) marks.push(key);
      headings.push({
        row: over ? row - 1 : row,
        endRow: row + 1,
        level: marks.indexOf(key) + 1,
        title: plainTitle(title),
      });
      row++;
    } else if (/^\.\. [\w-]+::|::\s*$/.test(title)) {
      // A directive or a literal block keeps the indented rows below it.
      const indent = lines.indent(row);
      let to = row;
      for (let at = row + 1; at < lines.count; at++) {
        if (lines.blank(at)) continue;
        if (lines.indent(at) <= indent) break;
        to = at;
      }
      if (to > row) blocks.push({ from: row, to });
      row = to;
    }
  }
  return { headings, blocks };
};

const HTML_HEADING = /<(h[1-6]|title)\b[^>]*>(.*)/i;

const htmlStructure = (lines: Lines): Structure => {
  const headings: Heading[] = [];
  for (let row = 0; row < lines.count; row++) {
    const found = HTML_HEADING.exec(rowText(lines, row));
    if (found === null) continue;
    const tag = (found[1] ?? "").toLowerCase();
    let inner = found[2] ?? "";
    let endRow = row;
    while (!/<\/(?:h[1-6]|title)\s*>/i.test(inner) && endRow < Math.min(row + 4, lines.count - 1))
      inner += ` ${rowText(lines, ++endRow)}`;
    const title = plainTitle(inner.replace(/<\/(?:h[1-6]|title)\s*>.*$/is, ""));
    if (title !== "") headings.push({ row, endRow, level: tag === "title" ? 1 : Number(tag[1]), title });
  }
  return { headings, blocks: [] };
};

/** The others, by language. */
export const HEADING_STYLES: Readonly<Record<string, (lines: Lines) => Structure>> = {
  asciidoc: byPattern(/^(={1,6})\s+(\S.*)$/, (mark) => mark.length),
  org: byPattern(/^(\*+)\s+(\S.*)$/, (mark) => mark.length),
  typst: byPattern(/^(=+)\s+(\S.*)$/, (mark) => mark.length),
  pod: byPattern(/^=head([1-4])\s+(\S.*)$/, Number),
  latex: byPattern(
    /^\s*\\(part|chapter|section|subsection|subsubsection|paragraph)\*?(?:\[[^\]]*\])?\{([^}]*)/,
    (mark) => LATEX_LEVELS.indexOf(mark) + 1,
  ),
  rst: rstStructure,
  html: htmlStructure,
};
