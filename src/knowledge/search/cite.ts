import type { Citation, Hit } from "../api/contract.ts";
import { chunkId, documentId } from "../api/ids.ts";
import type { CitedPassage, Generation, Passage } from "../store/contract.ts";

/** Whether the URI is a link that a reader can follow; everything else is a path. */
const isUrl = (uri: string): boolean => /^https?:\/\//.test(uri);

const fragmentOf = ({ anchor, page, startLine, endLine, document }: CitedPassage): string => {
  if (page !== undefined) return `#page=${page}`;
  if (anchor !== undefined && isUrl(document.uri)) return `#${anchor}`;
  if (startLine === undefined) return anchor === undefined ? "" : `#${anchor}`;
  return endLine === undefined || endLine === startLine ? `#L${startLine}` : `#L${startLine}-L${endLine}`;
};

export const anchorOf = (passage: CitedPassage): string => {
  const { uri } = passage.document;
  return `${isUrl(uri) ? uri.replace(/#.*$/, "") : uri}${fragmentOf(passage)}`;
};

/** The version is that of the collection: of a document that names its own, both. */
export const citationOf = (passage: CitedPassage, { version }: Generation): Citation => {
  const { document, headings } = passage;
  const heading = headings.at(-1);
  const title =
    heading === undefined || heading === document.title ? document.title : `${document.title}: ${heading}`;
  const position = anchorOf(passage);
  return {
    title,
    ...(isUrl(document.uri) ? { url: position } : { anchor: position }),
    ...(document.licence === undefined ? {} : { license: document.licence }),
    version,
  };
};

export const chunkIdOf = ({ document, ordinal }: Passage, { collection, version }: Generation): string =>
  chunkId({ collection, version, key: document.key, ordinal });

const SCORE_DIGITS = 4;

export const hitOf = (passage: Passage, generation: Generation, score: number, snippet: string): Hit => ({
  chunk_id: chunkIdOf(passage, generation),
  score: Number(score.toFixed(SCORE_DIGITS)),
  snippet,
  citation: citationOf(passage, generation),
  meta: {
    doc_id: documentId({
      collection: generation.collection,
      version: generation.version,
      key: passage.document.key,
    }),
    headings: passage.headings,
    kind: passage.kind,
  },
});
