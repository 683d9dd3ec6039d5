import type { ParsedDocument, Section } from "../../documents/contract.ts";
import type { ChunkKind } from "../../retrieve/chunk/chunk.ts";
import { chunkTerms, TERMS_VERSION } from "../../retrieve/terms/chunk-terms.ts";
import { contextOf } from "../search/embedded-text.ts";
import type { EmbeddedText, PassageEmbedder } from "../search/passage-embedder.ts";
import type { NewChunk } from "../store/contract.ts";
import { splitText } from "./split-text.ts";

/** Changes whenever the chunks of a document would: part of a document's key, so that it is then read again. */
export const CHUNK_RECIPE = `chunks-3-terms-${TERMS_VERSION}`;

/** Bounds what one document adds; the rest of a longer one is left out with a warning. */
export const MAX_CHUNKS = 5000;

const KINDS: Readonly<Record<Section["kind"], ChunkKind>> = { prose: "prose", code: "code", table: "data" };

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

type CutChunk = Omit<NewChunk, "vector">;

interface Cut {
  readonly chunks: CutChunk[];
  readonly texts: EmbeddedText[];
  readonly warnings: readonly string[];
}

/** No chunk begins in one section and ends in another. */
const cutDocument = (document: ParsedDocument): Cut => {
  const chunks: CutChunk[] = [];
  const texts: EmbeddedText[] = [];
  for (const section of document.sections) {
    const kind = KINDS[section.kind];
    const context = contextOf(document.title, section.headings);
    for (const part of splitText(section.text)) {
      if (chunks.length === MAX_CHUNKS)
        return { chunks, texts, warnings: [`only the first ${MAX_CHUNKS} passages are kept`] };
      chunks.push({
        ordinal: chunks.length,
        kind,
        headings: section.headings,
        anchor: section.anchor,
        page: section.page,
        ...linesOf(section, part),
        text: part.text,
        terms: chunkTerms("", { text: part.text, name: context, defines: [] }),
      });
      texts.push({ kind, text: `${context}\n${part.text}` });
    }
  }
  return { chunks, texts, warnings: [] };
};

/** Cuts a document at its sections, and makes the vectors of its chunks. */
export const chunkDocument = async (
  document: ParsedDocument,
  embedder: PassageEmbedder,
  signal?: AbortSignal,
): Promise<ChunkedDocument> => {
  const { chunks, texts, warnings } = cutDocument(document);
  const vectors = await embedder.embedPassages(texts, signal);
  return {
    chunks: chunks.map((chunk, at) => ({
      ...chunk,
      vector: vectors[at] ?? new Int8Array(embedder.dimensions),
    })),
    warnings,
  };
};
