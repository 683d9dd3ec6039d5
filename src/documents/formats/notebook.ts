import GithubSlugger from "github-slugger";
import { normalise } from "../text/decode-text.ts";
import { DocumentFailure } from "../text/limits.ts";
import { addPendingHeading } from "../text/line-sections.ts";
import { HeadingPath, headingText, type SectionList } from "../text/section-list.ts";
import type { FormatParser } from "./format-parser.ts";
import { addMarkdown } from "./markdown.ts";

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Texts are strings, or arrays of lines with their ends. */
const textOf = (value: unknown): string => {
  if (typeof value === "string") return normalise(value);
  return Array.isArray(value) ? normalise(value.filter((line) => typeof line === "string").join("")) : "";
};

/** Outputs are often long, and seldom what somebody asks for. */
const MAX_OUTPUT_CHARS = 4000;

const outputText = (output: unknown): string => {
  if (!isFields(output)) return "";
  const data = isFields(output["data"]) ? output["data"] : {};
  return textOf(output["text"] ?? data["text/plain"] ?? output["evalue"]).trimEnd();
};

const cellsOf = (notebook: Fields): readonly unknown[] => {
  if (Array.isArray(notebook["cells"])) return notebook["cells"];
  // Until version 3, cells lay in worksheets.
  const [sheet] = Array.isArray(notebook["worksheets"]) ? notebook["worksheets"] : [];
  const cells: unknown = isFields(sheet) ? sheet["cells"] : undefined;
  if (!Array.isArray(cells)) throw new DocumentFailure("invalid_args", "The notebook has no cells.");
  return cells;
};

const addCode = (cell: Fields, list: SectionList, path: HeadingPath): boolean => {
  const { headings, anchor } = path;
  list.add({ headings, anchor, text: textOf(cell["source"] ?? cell["input"]), kind: "code" });
  const outputs = Array.isArray(cell["outputs"]) ? cell["outputs"] : [];
  const printed = outputs
    .map(outputText)
    .filter((text) => text !== "")
    .join("\n");
  list.add({ headings, anchor, text: printed.slice(0, MAX_OUTPUT_CHARS).toWellFormed(), kind: "code" });
  path.use();
  return printed.length > MAX_OUTPUT_CHARS;
};

const parseJson = (text: string): Fields => {
  try {
    const notebook: unknown = JSON.parse(text);
    if (isFields(notebook)) return notebook;
  } catch {
    // Said below, without quoting the text.
  }
  throw new DocumentFailure("invalid_args", "The notebook is not valid JSON.");
};

export const parseNotebook: FormatParser = ({ text, list }) => {
  const notebook = parseJson(text);
  const [path, slugger] = [new HeadingPath(), new GithubSlugger()];
  let title: string | undefined;
  let isCut = false;
  for (const cell of cellsOf(notebook)) {
    if (!isFields(cell)) continue;
    if (cell["cell_type"] === "code") isCut = addCode(cell, list, path) || isCut;
    else {
      const found = addMarkdown(textOf(cell["source"]).split("\n"), list, slugger, { path });
      title ??= found;
    }
  }
  addPendingHeading(list, path);
  const metadata = isFields(notebook["metadata"]) ? notebook["metadata"] : {};
  const named = typeof metadata["title"] === "string" ? headingText(metadata["title"]) : undefined;
  return { title: named ?? title, warnings: isCut ? ["Long outputs of cells were cut."] : [] };
};
