import { type Block, sectionsOfLines } from "../text/line-sections.ts";
import { headingText } from "../text/section-list.ts";
import type { FormatParser } from "./format-parser.ts";

const ADORNMENT = /^([!-/:-@[-`{-~])\1{2,}\s*$/;
const CODE_DIRECTIVE =
  /^(\s*)\.\.\s+(?:code-block|code|sourcecode|highlight|parsed-literal|literalinclude|doctest)::/;
const TABLE_DIRECTIVE = /^(\s*)\.\.\s+(?:list-table|csv-table)::/;
const OTHER_DIRECTIVE = /^\s*\.\.(\s|$)/;
const GRID_TABLE = /^\s*\+[-=+]{3,}\+\s*$/;
const SIMPLE_TABLE = /^\s*={2,}(?:\s+={2,})+\s*$/;
const TARGET = /^\.\.\s+_([^:`]+|`[^`]+`):\s*$/;

const indentOf = (line: string): number => line.length - line.trimStart().length;
const isBlank = (line: string | undefined): boolean => line === undefined || line.trim() === "";

/** Where the lines end that are indented deeper than `indent`, from `from` on. */
const endOfIndented = (lines: readonly string[], from: number, indent: number): number => {
  let end = from;
  for (let at = from; at < lines.length; at++) {
    if (isBlank(lines[at])) continue;
    if (indentOf(lines[at] ?? "") <= indent) break;
    end = at + 1;
  }
  return end;
};

/** As docutils makes them; a name that is taken gets a number. */
const createAnchors = () => {
  const taken = new Set<string>();
  let unnamed = 0;
  return (text: string): string => {
    const id = text
      .normalize("NFKD")
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^[-0-9]+|-+$/g, "");
    const anchor = id === "" || taken.has(id) ? `id${++unnamed}` : id;
    taken.add(anchor);
    return anchor;
  };
};

/** Longer lines are no adornments. */
const MAX_ADORNMENT_CHARS = 1000;

const adornmentOf = (line: string): string | undefined =>
  line.length > MAX_ADORNMENT_CHARS ? undefined : ADORNMENT.exec(line)?.[1];

interface Title {
  readonly text: string;
  /** Decides the level, in the order in which styles appear. */
  readonly style: string;
  readonly lines: number;
}

/** A title at this line: a line above and below, or only below, at least as long as the text. */
const titleAt = (lines: readonly string[], at: number): Title | undefined => {
  const [first = "", second = "", third = ""] = lines.slice(at, at + 3);
  const over = adornmentOf(first);
  const fits = (text: string, line: string): boolean =>
    line.trimEnd().length >= Math.min(text.trim().length, 100);
  if (over !== undefined) {
    const isTitle = adornmentOf(third) === over && !isBlank(second) && fits(second, third);
    return isTitle ? { text: second, style: `${over}${over}`, lines: 3 } : undefined;
  }
  const under = adornmentOf(second);
  if (under === undefined || isBlank(first) || /^\s/.test(first) || !fits(first, second)) return undefined;
  return { text: first, style: under, lines: 2 };
};

/** `Here is code::` begins an indented literal block. */
const opensLiteral = (line: string): boolean => line.trimEnd().endsWith("::") && !OTHER_DIRECTIVE.test(line);

/** Where a simple table ends, by the line that it is asked at: with the border that a blank line or nothing follows. */
const simpleTableEnds = (lines: readonly string[]): readonly number[] => {
  const ends: number[] = new Array(lines.length + 1).fill(-1);
  for (let at = lines.length - 1; at >= 0; at--) {
    const isEnd = SIMPLE_TABLE.test(lines[at] ?? "") && isBlank(lines[at + 1]);
    ends[at] = isEnd ? at + 1 : (ends[at + 1] ?? -1);
  }
  return ends;
};

type BlockEnd = { readonly end: number; readonly kind: "code" | "table" } | undefined;

const blockEnd = (lines: readonly string[], at: number, tableEnds: readonly number[]): BlockEnd => {
  const line = lines[at] ?? "";
  const isCode = CODE_DIRECTIVE.test(line);
  if (isCode || TABLE_DIRECTIVE.test(line)) {
    const end = Math.max(at + 1, endOfIndented(lines, at + 1, indentOf(line)));
    return { end, kind: isCode ? "code" : "table" };
  }
  if (GRID_TABLE.test(line)) {
    let end = at + 1;
    while (end < lines.length && /^\s*[|+]/.test(lines[end] ?? "")) end++;
    return { end, kind: "table" };
  }
  const end = SIMPLE_TABLE.test(line) ? (tableEnds[at + 1] ?? -1) : -1;
  return end < 0 ? undefined : { end, kind: "table" };
};

const blocksOf = (lines: readonly string[]): Block[] => {
  const blocks: Block[] = [];
  const styles: string[] = [];
  const anchorOf = createAnchors();
  const tableEnds = simpleTableEnds(lines);
  let target: string | undefined;
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? "";
    const title = isBlank(lines[at - 1]) || at === 0 ? titleAt(lines, at) : undefined;
    if (title !== undefined) {
      if (!styles.includes(title.style)) styles.push(title.style);
      const text = headingText(title.text);
      const own = anchorOf(text);
      const heading = { level: styles.indexOf(title.style) + 1, text, anchor: target ?? own };
      blocks.push({ start: at, end: at + title.lines, kind: "heading", heading });
      at += title.lines;
      target = undefined;
      continue;
    }
    const named = TARGET.exec(line)?.[1];
    if (named !== undefined) target = anchorOf(named.replaceAll("`", ""));
    else if (!isBlank(line)) target = undefined;
    const block = blockEnd(lines, at, tableEnds);
    if (block !== undefined) {
      blocks.push({ start: at, ...block });
      at = block.end;
    } else if (opensLiteral(line)) {
      const end = endOfIndented(lines, at + 1, indentOf(line));
      if (end > at + 1) blocks.push({ start: at + 1, end, kind: "code" });
      at = Math.max(end, at + 1);
    } else at++;
  }
  return blocks;
};

const fieldOf = (lines: readonly string[], name: string): string | undefined => {
  const pattern = new RegExp(`^:${name}:\\s+(\\S.{0,200})$`, "i");
  for (const line of lines.slice(0, 60)) {
    const value = pattern.exec(line)?.[1];
    if (value !== undefined) return headingText(value);
  }
  return undefined;
};

export const parseRst: FormatParser = ({ text, list }) => {
  const lines = text.split("\n");
  const blocks = blocksOf(lines);
  sectionsOfLines(lines, blocks, list);
  return {
    title: blocks.find(({ heading }) => heading?.level === 1)?.heading?.text,
    licence: fieldOf(lines, "Licen[cs]e"),
    version: fieldOf(lines, "Version"),
  };
};
