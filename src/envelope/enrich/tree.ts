import { plainText, shorten, splitLines } from "../text/lines.ts";
import { firstThatFits } from "./budget.ts";
import type { Enricher } from "./contract.ts";

// Drawn with lines of three kinds of characters, four to a level, non-breaking spaces among them.
const BRANCH = /^((?:[│|\u00a0 ][\u00a0 ]{3}){0,200})(?:├──|└──|\|--|`--)[ \u00a0]/;

interface Row {
  readonly depth: number;
  readonly text: string;
}

const readRow = (line: string): Row | undefined => {
  const branch = BRANCH.exec(line);
  if (branch === null) return undefined;
  const [whole, before = ""] = branch;
  return { depth: before.length / 4 + 1, text: line.slice(whole.length) };
};

const SUMMARY = /^\d+ director(?:y|ies)(?:, \d+ files?)?$/;

const INDENT = " ";

/** Deeper entries are counted with the folder that contains them. */
const renderTo = (rows: readonly Row[], maxDepth: number): string[] => {
  const lines: string[] = [];
  let hidden = 0;
  const flush = (): void => {
    if (hidden > 0) lines[lines.length - 1] = `${lines.at(-1) ?? ""} [+${hidden}]`;
    hidden = 0;
  };
  for (const { depth, text } of rows) {
    if (depth > maxDepth) hidden++;
    else {
      flush();
      lines.push(`${INDENT.repeat(depth)}${shorten(text)}`);
    }
  }
  flush();
  return lines;
};

export const tree: Enricher = {
  name: "tree",
  programs: ["tree"],
  enrich: (ran, limits) => {
    const lines = splitLines(plainText(ran.stdout)).filter((line) => line !== "");
    const summary = lines.findLast((line) => SUMMARY.test(line));
    const [root = "", ...rest] = lines.filter((line) => line !== summary);
    const rows = rest.map(readRow);
    if (rows.length === 0 || !rows.every((row) => row !== undefined)) return undefined;
    const head = summary === undefined ? [root] : [`${root} [${summary}]`];
    const depths = [200, 8, 6, 5, 4, 3, 2, 1];
    const [text, way] = firstThatFits(
      depths.map((depth) => () => [...head, ...renderTo(rows, depth)].join("\n")),
      limits,
    );
    return { text, matchCount: rows.length, truncated: way > 0 };
  },
};
