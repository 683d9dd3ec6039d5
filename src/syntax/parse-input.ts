import type { Grammar } from "./language-table.ts";
import { type Language, languageOf } from "./languages.ts";

/** What a parser reads of a file. Positions in the text are those in the file. */
export interface ParseInput {
  readonly grammar: Grammar;
  readonly text: string;
  /** The language that the tree is of. */
  readonly language: Language;
}

const TYPESCRIPT = languageOf("a.ts");

const blank = (part: string): string => part.replace(/[^\n]/g, " ");

/** The text with everything but its scripts replaced by spaces; undefined where it has none. */
const scriptOnly = (text: string, script: RegExp): string | undefined => {
  let masked = "";
  for (const match of text.matchAll(script)) {
    const body = match[1] ?? "";
    const start = match.index + match[0].indexOf(body, match[0].search(/>|\n/));
    if (start < masked.length) continue;
    masked += blank(text.slice(masked.length, start)) + body;
  }
  return masked.trim() === "" ? undefined : masked + blank(text.slice(masked.length));
};

/** Undefined where no grammar reads the language. */
export const parseInputOf = (language: Language, text: string): ParseInput | undefined => {
  const { grammar, script, unreadable } = language;
  const masked = script === undefined ? undefined : scriptOnly(text, script);
  if (masked !== undefined)
    return { grammar: "typescript", text: masked, language: { ...TYPESCRIPT, kind: language.kind } };
  if (grammar === undefined) return undefined;
  return { grammar, text: unreadable === undefined ? text : text.replace(unreadable, blank), language };
};
