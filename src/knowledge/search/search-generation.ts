import { LlmcError } from "../../base/error.ts";
import { cosineOf } from "../../retrieve/embed/search-rows.ts";
import type { Generation, Passage, Store } from "../store/contract.ts";
import { contextOf } from "./embedded-text.ts";
import { withoutLanguage } from "./language-names.ts";
import type { LoadedGenerations } from "./loaded-generations.ts";
import type { PassageEmbedder } from "./passage-embedder.ts";
import type { RankedPassage } from "./passage-index.ts";

export interface SearchParts {
  readonly store: Store;
  readonly loaded: LoadedGenerations;
  readonly embedder: PassageEmbedder;
}

/** A longer question is a pasted text, of which the beginning is used. */
const MAX_QUERY_CHARS = 8000;

/** What is ranked besides what is shown: the confidence is measured by it. */
const MIN_RANKED = 10;

const otherEmbedder = ({ collection, version }: Generation): LlmcError =>
  new LlmcError("unavailable", `Version ${version} of ${collection} was made with another embedder.`, {
    hint: `The operator makes a new version of it with: llmc kb sync ${collection}. Or mcp.kb.embedder and mcp.rag.embedder_model are set to what they were.`,
  });

/** A passage with what speaks for it. */
export interface Evidence {
  readonly passage: Passage;
  readonly ranked: RankedPassage;
  readonly generation: Generation;
}

export interface Searched {
  readonly ranked: readonly RankedPassage[];
  readonly evidence: readonly Evidence[];
}

/**
 * With the cosines of the built-in tables in the place of a model's: the confidence was fitted to those, and every model has
 * cosines of another size. Of passages that are not shown nobody asks for it.
 */
const inTables = ({ id, tables }: PassageEmbedder, query: string, searched: Searched): Searched => {
  if (id === tables.id) return searched;
  const vectors = tables.embedQuery(query);
  const evidence = searched.evidence.map((one) => {
    const { kind, text, headings, document } = one.passage;
    const vector = tables.embedPassage(kind, `${contextOf(document.title, headings)}\n${text}`);
    return { ...one, ranked: { ...one.ranked, similarity: cosineOf(vector, vectors[one.ranked.table]) } };
  });
  return {
    evidence,
    ranked: [...evidence.map(({ ranked }) => ranked), ...searched.ranked.slice(evidence.length)],
  };
};

/** The best passages of one generation, with their texts. */
export const searchGeneration = async (
  { store, loaded, embedder }: SearchParts,
  generation: Generation,
  query: string,
  limit: number,
): Promise<Searched> => {
  if (generation.embedder !== embedder.id) throw otherEmbedder(generation);
  return loaded.use(generation, async ({ index, language }) => {
    const asked = withoutLanguage(query.slice(0, MAX_QUERY_CHARS), language);
    const ranked = index.search(
      asked,
      await embedder.embedQuery(asked),
      Math.max(MIN_RANKED, limit),
      embedder.share,
    );
    const shown = ranked.slice(0, limit);
    const passages = await store.readPassages(
      generation.id,
      shown.map(({ id }) => id),
    );
    const byId = new Map(passages.map((passage) => [passage.id, passage]));
    const evidence = shown.flatMap((one) => {
      const passage = byId.get(one.id);
      return passage === undefined ? [] : [{ passage, ranked: one, generation }];
    });
    if (evidence.length < shown.length)
      throw new LlmcError("busy", "The knowledge base was changed while it was searched.", {
        retryable: true,
      });
    return inTables(embedder, asked, { ranked, evidence });
  });
};
