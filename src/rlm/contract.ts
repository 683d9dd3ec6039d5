import type { CountTokens } from "../base/tokens.ts";
import type { BudgetLimits, Spending } from "../llm/budget.ts";
import type { Generation, Model } from "../llm/contract.ts";
import type { Guest } from "../sandbox/contract.ts";
import type { AnalysisSlots } from "../sandbox/slots.ts";
import type { Context, Passage } from "./context.ts";
import type { GuestLanguage } from "./guest-languages.ts";
import type { GrepText } from "./navigation.ts";

/** A JSON Schema of the few keywords that `checkValue` knows. */
export type AnswerSchema = Readonly<Record<string, unknown>>;

export interface AnalysisLimits extends BudgetLimits {
  readonly maxTurns: number;
  /** 0: no analysis may start another one. */
  readonly maxDepth: number;
  readonly timeoutMs: number;
  /** Processor time of one program. */
  readonly cpuMs: number;
  /** Memory of an interpreter besides what its context takes. */
  readonly memoryBytes: number;
  readonly maxOutputTokens: number;
  /** Of one model call. */
  readonly callTimeoutMs: number;
}

export interface AnalysisRequest {
  readonly id: string;
  readonly task: string;
  readonly context: Context;
  readonly rootModel: string;
  readonly subModel: string;
  readonly language: GuestLanguage;
  readonly limits: AnalysisLimits;
  readonly allowUnknownPrice: boolean;
  /** Give the last draft where a limit ends the analysis, marked as such. */
  readonly allowPartial: boolean;
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface Progress {
  readonly turn: number;
  readonly maxTurns: number;
  readonly calls: number;
  readonly costUsd: number;
  readonly budgetUsd: number;
  /** What happened: of the session itself, or of an analysis or call inside it. */
  readonly event: {
    readonly node: string;
    readonly kind: "turn" | "call" | "child" | "end";
    readonly detail: string;
  };
}

/** What an analysis works with; the wiring provides it. */
export interface AnalysisParts {
  /** Opens a model after policy and egress have agreed; throws otherwise. */
  readonly open: (model: string) => Promise<Model>;
  /** Of the caller, among all analyses. */
  readonly slots: Pick<AnalysisSlots, "take" | "tryTake" | "give">;
  readonly openGuest: (language: GuestLanguage, memoryBytes: number) => Promise<Guest>;
  readonly grep: GrepText;
  readonly countTokens: CountTokens;
  readonly now: () => number;
  readonly onGenerated?: (model: string, generation: Generation) => void;
}

/** What happened in an analysis and those inside it, and how often: turns, and what went wrong in them. */
export interface TurnCounts {
  turns: number;
  without_code: number;
  failed_programs: number;
  repeated: number;
  refused: number;
  /** Replies whose tokens were used up before there was any text. */
  out_of_tokens: number;
  cut_outputs: number;
  rejected_answers: number;
  ended_interpreters: number;
  /** Sub-prompts that had been answered before. */
  repeated_prompts: number;
  children: number;
}

export interface Answer {
  readonly text: string;
  /** Parts of the context that the answer rests on; each was compared with it. */
  readonly evidence: readonly Passage[];
  /** A limit ended the analysis before it was finished: this is the last draft. */
  readonly isPartial: boolean;
}

export interface AnalysisReport {
  readonly spending: Spending;
  readonly counts: Readonly<TurnCounts>;
  /** Of everything that was asked, answered and run, without times: equal for equal runs. */
  readonly trajectory: string;
}
