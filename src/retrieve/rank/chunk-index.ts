import { compileGlob } from "../../policy/globs.ts";
import type { Chunk, ChunkKind } from "../chunk/chunk.ts";
import type { NearestRows } from "../embed/nearest-rows.ts";
import { createVectorIndex } from "../embed/vector-index.ts";
import { createLexicalIndex, type LexicalIndex } from "../terms/lexical-index.ts";
import type { PackedTerms } from "../terms/packed-terms.ts";
import { tokenize } from "../terms/tokenize.ts";
import { documentsAnswer, withDocument } from "./documents-answer.ts";
import { createFileNames } from "./file-names.ts";
import { createNameIndex } from "./name-index.ts";
import { joinName, type QueryShape, shapeOf } from "./query-shape.ts";
import { type Candidate, isNamedAfter, type Ranked, rankChunks } from "./rank-chunks.ts";
import { CANDIDATES, type RankWeights } from "./rank-weights.ts";
import { relevanceOf } from "./relevance.ts";
import type { Scope, SearchScope } from "./search-request.ts";

/** What the index keeps of a chunk, beside its terms and its vector. */
export interface ChunkFacts extends Omit<Chunk, "text"> {
  readonly id: number;
  readonly path: string;
  readonly language: string;
}

export interface IndexedChunk extends ChunkFacts {
  readonly terms: PackedTerms;
  /** Left out where it is not computed yet: until then the chunk is found by its terms alone. */
  readonly vector?: Int8Array | undefined;
}

export interface RankedChunk extends ChunkFacts {
  /** 0 to 1, comparable within one answer. */
  readonly score: number;
  /** How well it fits the question by itself, 0 to 1: the score says only how well it fits beside the others. */
  readonly relevance: number;
  /** Why its file is in the answer to a long question. */
  readonly reasons?: readonly string[];
  /** With reasons: how surely a report points at the file, 0 to 1. */
  readonly certainty?: number;
}

export interface ChunkQuery {
  readonly query: string;
  readonly vector: Int8Array;
  readonly scope: SearchScope;
  readonly limit: number;
  /** How many of them are shown, where nothing is left out; the whole limit by default. */
  readonly shown?: number;
  readonly pathGlobs?: readonly string[] | undefined;
  readonly language?: string | undefined;
  readonly kind?: ChunkKind | undefined;
  readonly centrality?: ((path: string) => number) | undefined;
  readonly weights?: RankWeights;
  /** What the query asks for, where it is known better than its text says. */
  readonly shape?: QueryShape | undefined;
  /** Chunks that are candidates in any case, unless a filter leaves them out. */
  readonly also?: readonly number[] | undefined;
}

/** Plain text of no known kind belongs to both scopes. */
const IN_SCOPE: Readonly<Record<Scope, readonly ChunkKind[]>> = {
  repo: ["code", "data", "text"],
  docs: ["prose", "text"],
  both: ["code", "data", "text", "prose"],
};

/** A query over a scope that is decided. */
interface ScopedQuery extends ChunkQuery {
  readonly scope: Scope;
}

const filterOf = (
  query: ScopedQuery,
  factsOf: ReadonlyMap<number, ChunkFacts>,
): ((id: number) => boolean) | undefined => {
  const { scope, kind, language, pathGlobs } = query;
  if (scope === "both" && kind === undefined && language === undefined && !pathGlobs?.length)
    return undefined;
  const kinds = new Set(IN_SCOPE[scope].filter((one) => kind === undefined || one === kind));
  // A glob that cannot be read throws: it would look as if nothing were there.
  const globs = pathGlobs?.map((glob) => compileGlob(glob)) ?? [];
  const wantedPaths = new Map<string, boolean>();
  const isWantedPath = (path: string): boolean => {
    if (globs.length === 0) return true;
    const known = wantedPaths.get(path) ?? globs.some((matches) => matches(path));
    wantedPaths.set(path, known);
    return known;
  };
  return (id) => {
    const facts = factsOf.get(id);
    if (facts === undefined || !kinds.has(facts.kind)) return false;
    return (language === undefined || facts.language === language) && isWantedPath(facts.path);
  };
};

interface Found extends Candidate {
  readonly facts: ChunkFacts;
}

/** Field by field: a query has hundreds of them, and copying whole objects took half of its time. */
const toCandidate = (facts: ChunkFacts | undefined, lexical: number, similarity: number): Found[] =>
  facts === undefined
    ? []
    : [
        {
          id: facts.id,
          path: facts.path,
          kind: facts.kind,
          name: facts.name,
          defines: facts.defines,
          lexical,
          similarity,
          facts,
        },
      ];

/** The first of them, with how well each fits beside the others and by itself. */
const describeBest = (
  ranked: readonly Ranked<Found>[],
  limit: number,
  {
    shape,
    beginnings,
    lexical,
  }: { shape: QueryShape; beginnings: ReadonlySet<number>; lexical: LexicalIndex },
): readonly RankedChunk[] => {
  const best = ranked[0]?.score ?? 0;
  const top = ranked.slice(0, limit);
  const ids = top.map(({ candidate }) => candidate.id);
  const coverage = lexical.coverage(shape.terms.keys(), ids);
  const isNamed = ({ id, defines }: Found): boolean =>
    beginnings.has(id) || defines.some((name) => shape.names.has(joinName(name)));
  return top.map(({ candidate, score }) => ({
    ...candidate.facts,
    score: best > 0 ? score / best : 0,
    relevance: isNamed(candidate)
      ? 1
      : relevanceOf({
          similarity: candidate.similarity,
          coverage: coverage.get(candidate.id) ?? 0,
          isInNamedFile: isNamedAfter(candidate.path, shape),
        }),
  }));
};

/** Documents are not demoted in a search for documents. */
const inScope = (shape: QueryShape, scope: Scope): QueryShape =>
  scope === "docs"
    ? { ...shape, wantedCategories: new Set([...shape.wantedCategories, "docs" as const]) }
    : shape;

/** Code, unless documents answer the question clearly better; beside it, a document where guidance is asked for. */
const searchAuto = (
  query: Omit<ChunkQuery, "scope">,
  search: (query: ScopedQuery) => readonly RankedChunk[],
): readonly RankedChunk[] => {
  const documents = documentsAnswer(search({ ...query, scope: "both" }));
  if (documents !== undefined) return documents;
  const code = search({ ...query, scope: "repo" });
  if (!shapeOf(query.query).asksForGuidance) return code;
  return withDocument(code, search({ ...query, scope: "docs" }), query.shown ?? query.limit);
};

const scoreFiles = (
  lexical: LexicalIndex,
  factsOf: ReadonlyMap<number, ChunkFacts>,
  terms: ReadonlyMap<string, number>,
  scope: Scope,
): ReadonlyMap<string, number> => {
  const kinds = new Set(IN_SCOPE[scope]);
  const numbers = new Map<string, number>();
  const scores = lexical.scoreGroups(terms, (id) => {
    const facts = factsOf.get(id);
    if (facts === undefined || !kinds.has(facts.kind)) return undefined;
    const number = numbers.get(facts.path) ?? numbers.size;
    numbers.set(facts.path, number);
    return number;
  });
  return new Map([...numbers].map(([path, number]) => [path, scores[number] ?? 0]));
};

const chunksWith = (
  lexical: LexicalIndex,
  factsOf: ReadonlyMap<number, ChunkFacts>,
  terms: readonly string[] | ReadonlyMap<string, number>,
  limit: number,
  isWanted: (facts: ChunkFacts) => boolean,
): readonly ChunkFacts[] =>
  lexical
    .search(terms, limit, (id) => {
      const facts = factsOf.get(id);
      return facts !== undefined && isWanted(facts);
    })
    .flatMap(({ id }) => factsOf.get(id) ?? []);

/** Everything that a search needs, in memory: terms, vectors, names, and the ranking over them. */
export const createChunkIndex = ({
  dimensions,
  nearestRows,
}: {
  readonly dimensions: number;
  readonly nearestRows?: NearestRows | undefined;
}) => {
  const lexical = createLexicalIndex();
  let vectors = createVectorIndex(dimensions, nearestRows);
  const names = createNameIndex();
  const factsOf = new Map<number, ChunkFacts>();
  const fileNames = createFileNames(factsOf);

  const remove = (id: number): void => {
    const facts = factsOf.get(id);
    if (facts === undefined) return;
    factsOf.delete(id);
    lexical.remove(id);
    vectors.remove(id);
    names.remove(id, facts.defines);
    fileNames.remove(facts);
  };

  const search = (query: ScopedQuery): readonly RankedChunk[] => {
    const shape = inScope(query.shape ?? shapeOf(query.query), query.scope);
    const isWanted = filterOf(query, factsOf);
    const near = vectors.search(query.vector, CANDIDATES, isWanted);
    const defining = [...shape.names.keys()].flatMap((name) => names.find(name, CANDIDATES, isWanted));
    const named = fileNames.find(query.query, isWanted);
    const beginnings = new Set(named.beginnings.slice(0, CANDIDATES));
    const also = (query.also ?? []).filter((id) => factsOf.has(id) && (isWanted?.(id) ?? true));
    const others = [...near.map(({ id }) => id), ...defining, ...beginnings, ...also];
    const matching = lexical.searchWith(shape.terms, CANDIDATES, others, isWanted);
    const similarities = new Map(near.map(({ id, score }) => [id, score]));
    const farther = matching.map(({ id }) => id).filter((id) => !similarities.has(id));
    vectors.score(query.vector, farther).forEach((score, at) => {
      similarities.set(farther[at] ?? 0, score);
    });
    const candidates = matching.flatMap(({ id, score }) =>
      toCandidate(factsOf.get(id), score, similarities.get(id) ?? 0),
    );
    const ranked = rankChunks(shape, candidates, {
      leastSimilarity: near.at(-1)?.score ?? 0,
      centrality: query.centrality,
      named: { ...named, beginnings },
      ...(query.weights === undefined ? {} : { weights: query.weights }),
    });
    return describeBest(ranked, query.limit, { shape, beginnings, lexical });
  };

  return {
    get size(): number {
      return factsOf.size;
    },
    /** Replaces a chunk of the same id. Terms and vector are copied. */
    add: ({ terms, vector, ...facts }: IndexedChunk): void => {
      remove(facts.id);
      if (vector !== undefined) vectors.add(facts.id, vector);
      lexical.add(facts.id, terms);
      names.add(facts.id, facts.defines);
      fileNames.add(facts);
      factsOf.set(facts.id, facts);
    },
    remove,
    get: (id: number): ChunkFacts | undefined => factsOf.get(id),
    /** Ignored for a chunk that is not in the index. */
    setVector: (id: number, vector: Int8Array): void => {
      if (factsOf.has(id)) vectors.add(id, vector);
    },
    /** Paths of files of code whose text may have a name as a word, the likeliest first; others certainly do not. */
    codeFilesWith: (name: string): readonly string[] => {
      const term = tokenize(name).at(-1);
      if (term === undefined) return [];
      const found = chunksWith(lexical, factsOf, [term], factsOf.size, ({ kind }) => kind === "code");
      return [...new Set(found.map(({ path }) => path))];
    },
    /** Drops all vectors; the next ones are those of another embedder. */
    startVectors: (length: number): void => {
      vectors = createVectorIndex(length, nearestRows);
    },
    /** BM25 of whole files in a scope, by path. */
    scoreFiles: (terms: ReadonlyMap<string, number>, scope: Scope): ReadonlyMap<string, number> =>
      scoreFiles(lexical, factsOf, terms, scope),
    /** Chunks by the terms that they have, best first. */
    chunksWith: (
      terms: ReadonlyMap<string, number>,
      limit: number,
      isWanted: (facts: ChunkFacts) => boolean,
    ): readonly ChunkFacts[] => chunksWith(lexical, factsOf, terms, limit, isWanted),
    search: ({ scope, ...query }: ChunkQuery): readonly RankedChunk[] => {
      if (scope !== "auto") return search({ ...query, scope });
      const { beginnings, isAll } = fileNames.find(query.query);
      if (isAll && beginnings.length > 0) return search({ ...query, scope: "both" });
      return searchAuto(query, search);
    },
  };
};

export type ChunkIndex = ReturnType<typeof createChunkIndex>;
