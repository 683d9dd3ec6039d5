import type { ParsedDocument, Section } from "../../documents/contract.ts";
import type { ChunkKind } from "../../retrieve/chunk/chunk.ts";
import { chunkTerms, TERMS_VERSION } from "../../retrieve/terms/chunk-terms.ts";
import { contextOf } from "../search/embedded-text.ts";
import type { PassageEmbedder } from "../search/passage-embedder.ts";
import type { CutPassage, NewChunk } from "../store/contract.ts";
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

interface Cut {
  readonly passages: CutPassage[];
  readonly warnings: readonly string[];
}

/** No passage begins in one section and ends in another. */
const cutDocument = (document: ParsedDocument): Cut => {
  const passages: CutPassage[] = [];
  for (const section of document.sections) {
    for (const part of splitText(section.text)) {
      if (passages.length === MAX_CHUNKS)
        return { passages, warnings: [`Only the first ${MAX_CHUNKS} passages were kept.`] };
      passages.push({
        ordinal: passages.length,
        kind: KINDS[section.kind],
        headings: section.headings,
        anchor: section.anchor,
        page: section.page,
        ...linesOf(section, part),
        text: part.text,
      });
    }
  }
  return { passages, warnings: passages.length === 0 ? ["It has no text."] : [] };
};

/** Makes what passages of a document are found by: their terms and vectors, both from their own texts. */
export const indexPassages = async (
  title: string,
  passages: readonly CutPassage[],
  embedder: Pick<PassageEmbedder, "dimensions" | "embedPassages">,
  signal?: AbortSignal,
): Promise<readonly NewChunk[]> => {
  const named = passages.map((passage) => ({ ...passage, name: contextOf(title, passage.headings) }));
  const vectors = await embedder.embedPassages(
    named.map(({ kind, name, text }) => ({ kind, text: `${name}\n${text}` })),
    signal,
  );
  return named.map(({ name, ...passage }, at) => ({
    ...passage,
    terms: chunkTerms("", { text: passage.text, name, defines: [] }),
    vector: vectors[at] ?? new Int8Array(embedder.dimensions),
  }));
};

/** Cuts a document at its sections, and makes the index of its passages. */
export const chunkDocument = async (
  document: ParsedDocument,
  embedder: PassageEmbedder,
  signal?: AbortSignal,
): Promise<ChunkedDocument> => {
  const { passages, warnings } = cutDocument(document);
  return { chunks: await indexPassages(document.title, passages, embedder, signal), warnings };
};
