import type { LlmcError } from "../base/error.ts";
import type { Spending } from "../llm/budget.ts";
import type { Passage } from "./context.ts";
import type { Progress, TurnCounts } from "./contract.ts";
import type { Estimate } from "./estimate.ts";
import type { SamplingQuestions } from "./sampling.ts";

/** What a caller of an analysis asks for; what is left out has the operator's default. */
export interface RlmQuery {
  readonly task: string;
  readonly path?: string | undefined;
  readonly context?: string | undefined;
  readonly budgetUsd: number;
  readonly model?: string | undefined;
  readonly maxBytes?: number | undefined;
  readonly timeoutSeconds?: number | undefined;
  readonly maxTurns: number;
  readonly language?: string | undefined;
}

/** A caller's own files: reads a text file whole, or refuses it. */
export interface ReadContext {
  stat(path: string, signal: AbortSignal): Promise<{ readonly size: number; readonly type: string }>;
  readText(
    path: string,
    request: { readonly offsetLines: number; readonly maxLines: number; readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<{
    readonly text: string;
    readonly path: string;
    readonly sizeBytes: number;
    readonly truncated: boolean;
  }>;
}

/** Who asks; the wiring knows their rights. */
export interface RlmCall<C> {
  readonly caller: C;
  readonly correlationId: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  /** The client's own model, where the caller has one to offer. */
  readonly sampling?: {
    readonly canSample: boolean;
    /** What it answered to the questions of the last round, and the state that came back with them. */
    readonly answers: Readonly<Record<string, unknown>> | undefined;
    readonly state: unknown;
    /** Fires when the client gives the request up, also while its model is asked. */
    readonly givenUp: AbortSignal | undefined;
    /** Ends this call with questions; it is made again with the answers. */
    ask(questions: SamplingQuestions, state: unknown): never;
  };
}

export type ContextSource =
  | { readonly type: "path"; readonly path: string; readonly bytes_read: number; readonly truncated: false }
  | { readonly type: "context"; readonly bytes_read: number; readonly truncated: false };

export interface RlmAnswer {
  readonly answer: string;
  readonly evidence: readonly Passage[];
  readonly sessionId: string;
  readonly spending: Spending;
  readonly counts: Readonly<TurnCounts>;
  readonly source: ContextSource;
  readonly modelUsed: string;
  /** The limit that ended the analysis; only where partial answers are allowed. */
  readonly partial: LlmcError | undefined;
  readonly traceFile: string | undefined;
  readonly trajectory: string;
}

/** The engine behind `rlm_query`. */
export interface Rlm<C> {
  query(query: RlmQuery, files: ReadContext, call: RlmCall<C>): Promise<RlmAnswer>;
  /**
   * A sentence about each text, from the model of `mcp.rag.summary_model`; none where there is no such model, the caller may
   * not use it, or it does not answer in time.
   */
  summarize(
    texts: readonly string[],
    call: Omit<RlmCall<C>, "onProgress">,
  ): Promise<readonly (string | undefined)[]>;
  /** Ends the analyses of an owner that wait for the answers of its model. */
  endAll(owner: string): void;
  /** What a query could cost; nothing is sent. */
  estimate(query: RlmQuery, files: ReadContext, call: RlmCall<C>): Promise<Estimate>;
}
