import type { Answer } from "../api/contract.ts";
import type { StaticTables } from "../search/passage-embedder.ts";
import type { Evidence, Searched } from "../search/search-generation.ts";
import type { Generation } from "../store/contract.ts";
import { ANSWER_FLOOR, confidenceOf, logitOf } from "./confidence.ts";
import { type Extract, extractAnswer } from "./extract.ts";

/** What one collection answers to a question. */
export interface Asked extends Searched {
  readonly generation: Generation;
}

export interface Judged extends Asked {
  readonly confidence: number;
}

/** Passages that an answer is made of. */
export const ANSWER_PASSAGES = 6;

const NOT_HERE = "Not in this knowledge base.";

const judge = (asked: Asked): Judged => ({
  ...asked,
  confidence: confidenceOf(logitOf(asked.ranked), asked.generation.scores?.calibration),
});

/** Without citations there is no answer. */
const refusal = (confidence: number): Answer => ({ text: NOT_HERE, citations: [], confidence });

/**
 * The answers of the collections that have one, the most confident first; without any, the reply that the knowledge
 * base does not contain it. `compose` may put it into other words; where it does not, the sentences are those of the
 * documents.
 */
export const answerFrom = async (
  query: string,
  asked: readonly Asked[],
  tables: StaticTables,
  compose?: (evidence: readonly Evidence[]) => Promise<Extract | undefined>,
): Promise<Answer> => {
  const judged = asked.map(judge).toSorted((a, b) => b.confidence - a.confidence);
  const best = judged[0]?.confidence ?? 0;
  const surest = judged.filter(({ confidence }) => confidence >= ANSWER_FLOOR);
  if (surest.length === 0) return refusal(best);
  const evidence = surest
    .flatMap(({ evidence: own, confidence }) =>
      own.map((one) => ({
        ...one,
        ranked: { ...one.ranked, score: (one.ranked.score * confidence) / best },
      })),
    )
    .toSorted((a, b) => b.ranked.score - a.ranked.score)
    .slice(0, ANSWER_PASSAGES);
  const { text, citations } = (await compose?.(evidence)) ?? extractAnswer(query, evidence, tables);
  return citations.length === 0 ? refusal(best) : { text, citations: [...citations], confidence: best };
};
