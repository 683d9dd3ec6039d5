/** What knowledge bases answer, in the shapes of the published API: field names are those that callers see. */

/** Where a passage comes from. `anchor` is a path with its lines or page, `url` a link that leads there. */
export interface Citation {
  readonly title: string;
  readonly anchor?: string | undefined;
  readonly url?: string | undefined;
  readonly license?: string | undefined;
  readonly version?: string | undefined;
}

/** Of an id that leads nowhere any more, `title` is the id, and `error` says so. */
export interface ResolvedCitation extends Citation {
  readonly error?: string | undefined;
}

export interface HitMeta {
  readonly doc_id: string;
  readonly headings: readonly string[];
  readonly kind: string;
}

export interface Hit {
  readonly chunk_id: string;
  readonly score: number;
  readonly snippet: string;
  readonly citation: Citation;
  readonly meta: HitMeta;
}

export interface Filters {
  readonly product?: string | undefined;
  readonly version?: string | undefined;
  readonly semverRange?: string | undefined;
}

export interface AnswerFilters extends Filters {
  readonly collection?: string | undefined;
}

export interface SearchRequest {
  readonly collection: string;
  readonly query: string;
  readonly top_k: number;
  readonly filters?: Filters | undefined;
  /** Seconds for which the answer may be kept; 0: not at all. */
  readonly cache_ttl?: number | undefined;
}

export interface AnswerRequest {
  readonly query: string;
  readonly filters?: AnswerFilters | undefined;
  readonly model?: string | undefined;
}

export interface Answer {
  readonly text: string;
  /** In the order of the numbers in the text. */
  readonly citations: readonly Citation[];
  readonly confidence: number;
  /** Set where not all collections were asked. */
  readonly meta?: AnswerMeta | undefined;
}

export interface AnswerMeta {
  readonly collections_asked: number;
  readonly collections_left_out: number;
}

export interface DocumentRequest {
  readonly doc_id: string;
  readonly range?: string | undefined;
}

export interface DocumentAnswer {
  readonly metadata: {
    readonly title: string;
    readonly uri: string;
    readonly format: string;
    readonly collection: string;
    readonly version: string;
    readonly bytes: number;
    readonly chunks: number;
    readonly warnings: readonly string[];
  };
  readonly chunks: readonly {
    readonly chunk_id: string;
    readonly text: string;
    readonly anchor?: string | undefined;
    readonly headings: readonly string[];
  }[];
  readonly license?: string | undefined;
}

export interface Stats {
  readonly size: { readonly documents: number; readonly chunks: number; readonly bytes: number };
  readonly versions: readonly string[];
  readonly embedder_version: string;
  readonly health: "healthy" | "degraded" | "empty";
  /** Why it is degraded. */
  readonly problems?: readonly string[] | undefined;
  readonly eval_scores?: Readonly<Record<string, number>> | undefined;
}

export interface ListedCollection {
  readonly name: string;
  readonly version: string | null;
  readonly pinned?: boolean | undefined;
  readonly flows?: readonly string[] | undefined;
}

export interface FlowAnswer {
  readonly results: Readonly<Record<string, unknown>>;
  readonly citations: readonly Citation[];
  readonly timings: Readonly<Record<string, number>>;
}
