import { type Block, type Heading, plainTitle, rowText, type Structure } from "./headings.ts";
import type { Lines } from "./lines.ts";

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const ATX = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*\r?$/;
const SETEXT = /^ {0,3}(=+|-{2,})[ \t]*\r?$/;
const TABLE_ROW = /^\s*\|.*\|\s*$/;
const FRONT_MATTER = /^(?:---|\+\+\+)\s*$/;

/** Row that closes the block that opens at `row`, or the last one. */
const findClosing = (lines: Lines, row: number, closes: (text: string) => boolean): number => {
  for (let at = row + 1; at < lines.count; at++) if (closes(rowText(lines, at))) return at;
  return lines.count - 1;
};

const isParagraph = (lines: Lines, row: number): boolean =>
  row >= 0 && !lines.blank(row) && !/^\s*(?:[-*+>#|]|\d+[.)])/.test(rowText(lines, row));

export const markdownStructure = (lines: Lines): Structure => {
  const headings: Heading[] = [];
  const blocks: Block[] = [];
  let row = 0;
  const front = lines.count > 0 ? FRONT_MATTER.exec(rowText(lines, 0)) : null;
  if (front !== null) {
    const end = findClosing(lines, 0, (text) => text.trim() === front[0].trim());
    if (end < lines.count - 1 || rowText(lines, end).trim() === front[0].trim()) {
      blocks.push({ from: 0, to: end });
      row = end + 1;
    }
  }
  for (; row < lines.count; row++) {
    const text = rowText(lines, row);
    const fence = FENCE.exec(text)?.[1];
    if (fence !== undefined) {
      const end = findClosing(lines, row, (other) => {
        const close = FENCE.exec(other)?.[1];
        return (
          close !== undefined &&
          close[0] === fence[0] &&
          close.length >= fence.length &&
          other.trim() === close
        );
      });
      blocks.push({ from: row, to: end });
      row = end;
      continue;
    }
    const atx = ATX.exec(text);
    if (atx !== null) {
      const title = plainTitle(atx[2] ?? "");
      if (title !== "") headings.push({ row, endRow: row, level: atx[1]?.length ?? 1, title });
      continue;
    }
    const underline = SETEXT.exec(text)?.[1];
    if (underline !== undefined && isParagraph(lines, row - 1) && headings.at(-1)?.endRow !== row - 1) {
      const title = plainTitle(rowText(lines, row - 1));
      headings.push({ row: row - 1, endRow: row, level: underline.startsWith("=") ? 1 : 2, title });
      continue;
    }
    if (TABLE_ROW.test(text)) {
      const end = findClosing(lines, row, (other) => !TABLE_ROW.test(other));
      const to = TABLE_ROW.test(rowText(lines, end)) ? end : end - 1;
      blocks.push({ from: row, to });
      row = to;
    }
  }
  return { headings, blocks };
};
