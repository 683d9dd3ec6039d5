import { fileOf, type SymbolId, type Table } from "../project/table.ts";
import type { UseFinder } from "../resolve/uses.ts";
import type { MentionedIn, Mentions } from "./answers.ts";
import { isPath } from "./files.ts";

/** What the graph does not resolve is looked up in the text. */
export interface MentionSources {
  readonly readText: (path: string) => string | undefined;
  /** Files of code whose text may have the name as a word; others certainly do not. */
  readonly filesWith: (name: string) => readonly string[];
}

/** Files that are read for one name: for a name that everything has, the first ones say enough. */
const MAX_FILES = 300;
/** A name with more definitions than this (`get`) is not followed through all of them. */
const MAX_DEFINITIONS = 20;
const MAX_FILES_LISTED = 20;
const MAX_LINES_LISTED = 5;

/** What is less certain is not shown unless a caller asks for it. */
export const DEFAULT_CONFIDENCE = 0.5;

export const NO_MENTIONS: Mentions = { total: 0, unresolved: 0, files: [], isCut: false };

const WORD = /[\p{L}\p{N}_$]/u;

const isWordAt = (text: string, at: number): boolean => {
  const character = text[at];
  return character !== undefined && WORD.test(character);
};

/** Only where nothing else is on the line: code must not be taken for a comment. */
const COMMENT = /[ \t]*(?:\/\/|\/\*|\*(?:\s|\/|$)|#(?:[\s#!]|$)|--(?:[-\s]|$)|;;|%%)/y;

const isCommentLine = (text: string, lineStart: number): boolean => {
  COMMENT.lastIndex = lineStart;
  return COMMENT.test(text);
};

/** Lines, counted from 1, that have a name as a whole word outside of a comment. */
export const linesWith = (text: string, name: string): readonly number[] => {
  const lines: number[] = [];
  let line = 1;
  let counted = 0;
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) {
    if (isWordAt(text, at - 1) || isWordAt(text, at + name.length)) continue;
    for (let end = text.indexOf("\n", counted); end >= 0 && end < at; end = text.indexOf("\n", counted)) {
      line++;
      counted = end + 1;
    }
    if (lines.at(-1) !== line && !isCommentLine(text, counted)) lines.push(line);
  }
  return lines;
};

/**
 * The name that a query is about: the last part of a qualified name, also of one that is no identifier (`content-type`);
 * empty where it names only a place.
 */
export const nameIn = (query: string): string => {
  const text = query.trim().replace(/\(\)$/, "");
  if (isPath(text) || /(?:#L|:)\d+(?:[-:].*)?$/.test(text)) return "";
  const last = text.split(/[.:#\\/]|->/).at(-1) ?? "";
  return /^[\p{L}\p{N}_$?!]+(?:-[\p{L}\p{N}_$?!]+)*$/u.test(last) ? last : "";
};

interface Position {
  readonly path: string;
  readonly line: number;
}

const keyOf = ({ path, line }: Position): string => `${path}:${line}`;

/** Lines that name something, beside those that the graph resolves. */
export const createMentions = (table: Table, finder: UseFinder, { readText, filesWith }: MentionSources) => {
  /** Where other symbols of the same name are defined and used: those lines do not mean the ones asked for. */
  const ofOthers = (name: string, asked: ReadonlySet<SymbolId>): ReadonlySet<string> => {
    const found = new Set<string>();
    for (const [count, id] of table.named.get(name).entries()) {
      const path = table.file(fileOf(id))?.path ?? "";
      found.add(keyOf({ path, line: table.definition(id)?.line ?? 0 }));
      if (asked.has(id) || count >= MAX_DEFINITIONS) continue;
      for (const { file, line, confidence } of finder.usesOf(id))
        if (confidence >= DEFAULT_CONFIDENCE) found.add(keyOf({ path: file.path, line }));
    }
    return found;
  };

  /**
   * @param asked the symbols of the question, which all have this name
   * @param resolved lines on which the graph knows them to be used
   */
  return (name: string, asked: readonly SymbolId[], resolved: readonly Position[]): Mentions => {
    if (name.length < 2) return NO_MENTIONS;
    const known = new Set(resolved.map(keyOf));
    const others = ofOthers(name, new Set(asked));
    const candidates = filesWith(name);
    const files: MentionedIn[] = [];
    for (const path of candidates.slice(0, MAX_FILES)) {
      const open = linesWith(readText(path) ?? "", name).filter((line) => {
        const key = keyOf({ path, line });
        return !known.has(key) && !others.has(key);
      });
      if (open.length > 0) files.push({ path, count: open.length, lines: open.slice(0, MAX_LINES_LISTED) });
    }
    files.sort((a, b) => b.count - a.count || (a.path < b.path ? -1 : 1));
    const unresolved = files.reduce((sum, { count }) => sum + count, 0);
    return {
      total: known.size + unresolved,
      unresolved,
      files: files.slice(0, MAX_FILES_LISTED),
      isCut: candidates.length > MAX_FILES,
    };
  };
};

export type FindMentions = ReturnType<typeof createMentions>;
