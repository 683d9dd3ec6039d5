import type { Tree } from "web-tree-sitter";
import { type FileSymbols, NO_SYMBOLS } from "../../symbols/extract/file-symbols.ts";
import { extractSymbols } from "../../symbols/extract-symbols.ts";
import { type Language, languageOf } from "../../syntax/languages.ts";
import { parseInputOf } from "../../syntax/parse-input.ts";
import type { Parsers } from "../../syntax/parsers.ts";
import { readSyntaxTree, type SyntaxTree } from "../../syntax/syntax-tree.ts";
import { rowAtoms } from "../chunk/atoms.ts";
import type { Chunk, ChunkKind } from "../chunk/chunk.ts";
import { cutKeyed } from "../chunk/keyed.ts";
import { toLines } from "../chunk/lines.ts";
import { cutListing, listingOf } from "../chunk/listing.ts";
import { cutNotebook } from "../chunk/notebook.ts";
import { createNamer } from "../chunk/outline.ts";
import { cutProse } from "../chunk/prose.ts";
import { SIZES } from "../chunk/sizes.ts";
import { cutSyntax } from "../chunk/syntax-chunks.ts";
import { type Cut, toChunks } from "../chunk/to-chunks.ts";

export interface SourceFile {
  /** Relative to the workspace, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** The result of parsing one file. */
export interface ParsedFile {
  readonly language: string;
  readonly chunks: readonly Chunk[];
  readonly symbols: FileSymbols;
  /** Why the file was cut into plain windows of lines instead, where it was. */
  readonly fallback: string | undefined;
}

const PARTIAL = "very large or generated: only its first chunks are kept";
const BROKEN = "mostly syntax errors";

/** Plain windows of lines, for text without a parser, cut where blank lines and indentation suggest that something starts. */
const cutWindows = (text: string, kind: ChunkKind): Cut => {
  const lines = toLines(text);
  const atoms = rowAtoms(lines, 0, lines.count - 1);
  return toChunks({ lines, atoms, nameOf: createNamer([]), kind, sizes: SIZES, defining: false });
};

/** How a file is cut where no grammar is needed. */
const cutPlain = (text: string, { id, kind, keys }: Language): Cut => {
  if (keys !== undefined) return cutKeyed(text, keys);
  return kind === "prose" ? cutProse(text, id, kind) : cutWindows(text, kind);
};

const toParsedFile = (language: Language, cut: Cut, symbols: FileSymbols, reason?: string): ParsedFile => ({
  language: language.id,
  chunks: cut.chunks,
  symbols,
  fallback: reason ?? (cut.partial ? PARTIAL : undefined),
});

const symbolsOf = (tree: Tree, language: Language, text: string): FileSymbols => {
  try {
    return extractSymbols(tree, language, text);
  } catch {
    // The chunks are useful even without symbols.
    return NO_SYMBOLS;
  }
};

const fromNotebook = (tree: SyntaxTree, language: Language, text: string): ParsedFile => {
  const cut = cutNotebook(tree, text);
  return cut === undefined
    ? toParsedFile(language, cutWindows(text, "data"), NO_SYMBOLS, "not a notebook of cells")
    : toParsedFile(language, cut, NO_SYMBOLS);
};

/** Plain windows of lines, whatever the file is. */
export const cutWithoutParsing = ({ path, text }: SourceFile, reason: string): ParsedFile => {
  const language = languageOf(path, text);
  return toParsedFile(language, cutWindows(text, language.kind), NO_SYMBOLS, reason);
};

/** Parses a file once: its language, chunks and symbols. Never fails: a file that cannot be parsed is cut into windows of lines. */
export const parseFile = async (source: SourceFile, parsers: Parsers): Promise<ParsedFile> => {
  const { text } = source;
  const language = languageOf(source.path, text);
  const listing = listingOf(source.path, text, language);
  if (listing !== undefined) return toParsedFile(language, cutListing(text, language), NO_SYMBOLS, listing);
  const input = parseInputOf(language, text);
  if (input === undefined) return toParsedFile(language, cutPlain(text, language), NO_SYMBOLS);
  const { tree, reason } = await parsers.parse(input.grammar, input.text);
  if (tree === undefined) return toParsedFile(language, cutWindows(text, language.kind), NO_SYMBOLS, reason);
  try {
    const syntax = readSyntaxTree(tree, input.text);
    if (language.isNotebook === true) return fromNotebook(syntax, language, text);
    const symbols = symbolsOf(tree, input.language, input.text);
    const cut = cutSyntax(syntax, input.grammar, text, language.kind, symbols);
    return toParsedFile(language, cut, symbols, cut.broken ? BROKEN : undefined);
  } catch {
    return toParsedFile(
      language,
      cutWindows(text, language.kind),
      NO_SYMBOLS,
      "its syntax tree cannot be read",
    );
  } finally {
    tree.delete();
  }
};
