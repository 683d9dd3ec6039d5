import { sectionsOfLines } from "../text/line-sections.ts";
import type { FormatParser } from "./format-parser.ts";

export const parseText: FormatParser = ({ text, list }) => {
  sectionsOfLines(text.split("\n"), [], list);
  return {};
};

/** One section with its lines: code is cut by the rules of its language, which this room does not know. */
export const parseCode: FormatParser = ({ text, list }) => {
  const lines = text.split("\n");
  sectionsOfLines(lines, [{ start: 0, end: lines.length, kind: "code" }], list);
  return {};
};
