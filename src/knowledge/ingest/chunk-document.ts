import type { ParsedDocument, Section } from "../../documents/contract.ts";
import type { ChunkKind } from "../../retrieve/chunk/chunk.ts";
import { chunkTerms, TERMS_VERSION } from "../../retrieve/terms/chunk-terms.ts";
import type { PassageEmbedder } from "../search/passage-embedder.ts";
import type { NewChunk } from "../store/contract.ts";
import { splitText } from "./split-text.ts";

/** Changes whenever the chunks of a document would: part of a document's key, so that it is then read again. */
export const CHUNK_RECIPE = `chunks-3-terms-${TERMS_VERSION}`;

/** Bounds what one document adds; the rest of a longer one is left out with a warning. */
export const MAX_CHUNKS = 5000;

const KINDS: Readonly<Record<Section["kind"], ChunkKind>> = { prose: "prose", code: "code", table: "data" };

/** What the search knows about a passage besides its text: the title and the headings above it. */
const contextOf = (title: string, headings: readonly string[]): string =>
  [title, ...headings.filter((heading) => heading !== title)].join(" > ");

/** Lines of a part, where the lines of the section are those of its text. */
const linesOf = (
  { text, startLine, endLine }: Section,
  { fromLine, toLine }: { readonly fromLine: number; readonly toLine: number },
): { readonly startLine: number | undefined; readonly endLine: number | undefined } => {
  if (startLine === undefined) return { startLine, endLine };
  const isLineByLine = endLine === undefined || endLine - startLine + 1 === text.split("\n").length;
  return isLineByLine
    ? { startLine: startLine + fromLine, endLine: startLine + toLine }
    : { startLine, endLine };
};

export interface ChunkedDocument {
  readonly chunks: readonly NewChunk[];
  readonly warnings: readonly string[];
}

/** Cuts a document at its sections: no chunk begins in one of them and ends in another. */
export const chunkDocument = (document: ParsedDocument, embedder: PassageEmbedder): ChunkedDocument => {
  const chunks: NewChunk[] = [];
  for (const section of document.sections) {
    const kind = KINDS[section.kind];
    const context = contextOf(document.title, section.headings);
    for (const part of splitText(section.text)) {
      if (chunks.length === MAX_CHUNKS)
        return { chunks, warnings: [`only the first ${MAX_CHUNKS} passages are kept`] };
      chunks.push({
        ordinal: chunks.length,
        kind,
        headings: section.headings,
        anchor: section.anchor,
        page: section.page,
        ...linesOf(section, part),
        text: part.text,
        terms: chunkTerms("", { text: part.text, name: context, defines: [] }),
        vector: embedder.embedPassage(kind, "", `${context}\n${part.text}`),
      });
    }
  }
  return { chunks, warnings: [] };
};
