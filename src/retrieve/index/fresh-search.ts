import { tokenCounter } from "../../host/os/token-counter.ts";
import { memoize } from "../collections/memoize.ts";
import type { RankedChunk } from "../rank/chunk-index.ts";
import type { RankWeights } from "../rank/rank-weights.ts";
import { relevantOf } from "../rank/relevance.ts";
import type { SearchEnd, SearchRequest, Snippet } from "../rank/search-request.ts";
import { selectSnippets } from "../rank/select-snippets.ts";
import type { CurrentLines } from "./current-lines.ts";
import { textOfChunk } from "./file-entry.ts";
import type { Indexer } from "./indexer.ts";
import { withoutLanguage } from "./language-name.ts";
import type { LoadedIndex } from "./loaded-index.ts";
import type { ReadQuestion } from "./report-search.ts";

export interface FreshSearchParts {
  readonly loaded: LoadedIndex;
  readonly indexer: Pick<Indexer, "refresh">;
  readonly lines: CurrentLines;
  readonly embedQuery: (query: string, signal: AbortSignal | undefined) => Int8Array | Promise<Int8Array>;
  readonly weights: RankWeights;
  readonly centrality: (path: string) => number;
  /** Reads a long question; undefined for a short one, which is ranked as it is. */
  readonly readQuestion: ReadLongQuestion;
}

type ReadLongQuestion = (
  question: string,
  signal: AbortSignal | undefined,
) => Promise<ReadQuestion | undefined>;

/** Additional candidates: some are gone from the disk, or do not fit the budget. */
const SPARE = 10;
const PER_WANTED = 2;
/** After that many rounds, a file that changes faster than it is read is left out. */
const MAX_ROUNDS = 3;
const MAX_COUNTED = 1000;

/** What was found, and what ended the answer. */
export interface Found {
  readonly snippets: readonly Snippet[];
  readonly end: SearchEnd;
}

const endOf = (
  { k }: SearchRequest,
  snippets: readonly Snippet[],
  relevant: number,
  hasIrrelevant: boolean,
): SearchEnd => {
  if (snippets.length >= k) return "full";
  if (snippets.length < relevant) return "budget";
  return hasIrrelevant ? "irrelevant" : "all";
};

/** A copy scores a little better or worse by its path alone. */
const ALIKE = 0.9;

const depthOf = (path: string): number => path.split("/").length;

/**
 * Copies of a file stand behind everything else: git work trees in the workspace would show the same lines again, in the
 * place of others. Of files with the same content, the best one is no copy; among those as good, the one in the fewest
 * folders.
 */
const copiesLast = (
  ranked: readonly RankedChunk[],
  hashOf: (path: string) => string,
): readonly RankedChunk[] => {
  const originals = new Map<string, RankedChunk>();
  for (const chunk of ranked) {
    const hash = hashOf(chunk.path);
    const best = originals.get(hash);
    const isAsGood = best !== undefined && chunk.score >= ALIKE * best.score;
    if (best === undefined || (isAsGood && depthOf(chunk.path) < depthOf(best.path)))
      originals.set(hash, chunk);
  }
  const isCopy = ({ path }: RankedChunk): boolean => originals.get(hashOf(path))?.path !== path;
  const first = ranked.filter((chunk) => !isCopy(chunk));
  const least = first.at(-1)?.score ?? 1;
  return [
    ...first,
    ...ranked.filter(isCopy).map((copy) => ({ ...copy, score: Math.min(copy.score, least) })),
  ];
};

/**
 * Searches, and reads every file that the answer quotes. A file that has changed is indexed again before the search is
 * repeated, so that text and lines are always those on the disk.
 */
export const createFreshSearch = (parts: FreshSearchParts) => {
  const { loaded, indexer, lines, embedQuery, weights, centrality, readQuestion } = parts;

  const rank = (
    request: SearchRequest,
    vector: Int8Array,
    long: ReadQuestion | undefined,
  ): readonly RankedChunk[] => {
    const { query, scope, k, pathGlobs, language, kind } = request;
    const wanted = {
      vector,
      weights,
      centrality,
      scope,
      limit: k * PER_WANTED + SPARE,
      shown: k,
      ...(pathGlobs === undefined ? {} : { pathGlobs }),
      ...(language === undefined ? {} : { language }),
      ...(kind === undefined ? {} : { kind }),
    };
    return long === undefined ? loaded.chunks.search({ ...wanted, query }) : long.rank(wanted);
  };

  return async (request: SearchRequest, signal: AbortSignal | undefined): Promise<Found> => {
    // Snippets are selected again, and their texts counted again, when more files had to be read.
    const countTokens = memoize(await tokenCounter(), MAX_COUNTED);
    const query = withoutLanguage(request.query, loaded.files);
    const long = await readQuestion(request.query, signal);
    const vector = await embedQuery(long?.text ?? query, signal);
    for (let round = 1; ; round++) {
      const hashOf = (path: string): string => loaded.files.get(path)?.hash ?? "";
      const all = rank({ ...request, query }, vector, long);
      // Nothing is better than padding.
      const ranked = copiesLast(relevantOf(all, weights), hashOf);
      // Taken now: while the files are read, another call may bring newer content into the index.
      const hashes = new Map(ranked.map(({ path }) => [path, hashOf(path)]));
      const partOf = new Map(ranked.map(({ id }) => [id, loaded.partOf(id)]));
      const read = new Map<string, readonly string[] | undefined>();
      let wanted = new Set(ranked.slice(0, request.k).map(({ path }) => path));
      let snippets: readonly Snippet[] = [];
      while (wanted.size > 0) {
        for (const path of wanted) read.set(path, await lines.read(path, hashes.get(path) ?? "", signal));
        wanted = new Set();
        const textOf = ({ id, path, startLine, endLine }: RankedChunk) => {
          if (!read.has(path)) wanted.add(path);
          const text = textOfChunk(read.get(path) ?? [], { startLine, endLine, part: partOf.get(id) });
          return text === undefined ? undefined : { text, startLine, endLine };
        };
        snippets = selectSnippets(ranked, request, textOf, countTokens);
      }
      const stale = [...read].filter(([, found]) => found === undefined).map(([path]) => path);
      if (stale.length === 0 || round === MAX_ROUNDS)
        return { snippets, end: endOf(request, snippets, ranked.length, all.length > ranked.length) };
      await indexer.refresh(stale, signal);
    }
  };
};
