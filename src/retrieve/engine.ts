import type {
  Inspection,
  InspectOptions,
  Lineage,
  LineageOptions,
  UsageOptions,
  Usages,
} from "../symbols/answers/answers.ts";
import type { IndexProgress, IndexReport, IndexState, IndexStats } from "./index/index-status.ts";
import type { SearchEnd, SearchRequest, Snippet } from "./rank/search-request.ts";

export interface Answer<T> {
  readonly value: T;
  readonly index: IndexState;
  /** Sentences for whoever reads the answer; empty when all is well. */
  readonly notes: readonly string[];
  /** Why nothing is known of the file that was asked about, although it is there. */
  readonly leftOut?: string | undefined;
}

export interface SearchAnswer extends Answer<readonly Snippet[]> {
  readonly end: SearchEnd;
}

/** Finds lines of code and documents. All methods may be called concurrently. */
export interface Retrieval {
  /** Brings the index up to date with the files; `force` reads and parses all of them again. */
  index(
    request: { readonly force?: boolean },
    signal?: AbortSignal,
    onProgress?: (progress: IndexProgress) => void,
  ): Promise<IndexReport>;
  /** Text and lines of each snippet are those of the file on the disk at this moment. */
  search(
    request: SearchRequest,
    signal?: AbortSignal,
    onProgress?: (progress: IndexProgress) => void,
  ): Promise<SearchAnswer>;
  stats(signal?: AbortSignal): Promise<IndexStats>;
  /** A name, a qualified name (`Store.open`) or `path:line`. */
  whereUsed(symbol: string, options?: UsageOptions, signal?: AbortSignal): Promise<Answer<Usages>>;
  lineage(symbol: string, options?: LineageOptions, signal?: AbortSignal): Promise<Answer<Lineage>>;
  inspect(symbolOrPath: string, options?: InspectOptions, signal?: AbortSignal): Promise<Answer<Inspection>>;
  close(): Promise<void>;
}
