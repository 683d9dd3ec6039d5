/** What can speak for a file, beside one another. */
export type EvidenceKind =
  /** Its best chunk, as short questions rank it. */
  | "chunk"
  /** Its whole text, by BM25: several chunks that each have a part of the report. */
  | "file"
  /** A frame of a trace is in it; the innermost counts most. */
  | "frame"
  /** The report has its path, or a module name that means it. */
  | "path"
  /** It has the text of an error or warning. */
  | "message"
  /** It defines what title or prose name. */
  | "name"
  /** It defines what the example code calls or imports. */
  | "example"
  /** What the example calls calls something in it. */
  | "callee"
  /** Tests that resemble the report import it. */
  | "test";

/** Something that speaks for a file. */
export interface Evidence {
  readonly kind: EvidenceKind;
  readonly path: string;
  /** The line it points at; 0 for the file as a whole. */
  readonly line: number;
  /** 0 to 1. */
  readonly strength: number;
  /** For whoever reads the answer: `defines Store, named in the title`. */
  readonly reason: string;
}

export type EvidenceWeights = Readonly<Record<EvidenceKind, number>>;

/** It points at one place: as much as the best chunk. From 0.5 to 1.5, the first file of at most three of 59 reports changes. */
const SURE = 1;
/** It narrows the search to a few files, between which the text decides. From 0.125 to 0.5, that of two changes. */
const HINT = 0.25;

/**
 * What the strongest evidence of each kind adds to the score of a file. Two levels, by what the kind can say, and no more:
 * the open reports (bench/localisation.ts) are too few to fit weights to. The upper level was chosen with all of them in view, so
 * the figures on them flatter it.
 */
export const EVIDENCE_WEIGHTS: EvidenceWeights = {
  chunk: 1,
  file: 1,
  frame: SURE,
  path: SURE,
  message: SURE,
  name: HINT,
  example: HINT,
  /** One step further away. */
  callee: HINT / 2,
  test: HINT,
};

/** Independent hints add up without ever passing certainty. */
const combineStrengths = (strengths: readonly number[]): number =>
  1 - strengths.reduce((doubt, strength) => doubt * (1 - Math.min(1, Math.max(0, strength))), 1);

/** What the evidence adds to the score of its file. */
export const scoreEvidence = (evidence: readonly Evidence[], weights: EvidenceWeights): number => {
  let sum = 0;
  for (const [kind, ofKind] of Map.groupBy(evidence, (one) => one.kind))
    sum += weights[kind] * combineStrengths(ofKind.map(({ strength }) => strength));
  return sum;
};

/** The best reason of each kind, the strongest first. */
export const reasonsOf = (
  evidence: readonly Evidence[],
  weights: EvidenceWeights,
  limit: number,
): readonly string[] => {
  const weightOf = ({ kind, strength }: Evidence): number => weights[kind] * strength;
  const best = new Map<EvidenceKind, Evidence>();
  for (const one of evidence) {
    const known = best.get(one.kind);
    if (known === undefined || one.strength > known.strength) best.set(one.kind, one);
  }
  return [...best.values()]
    .sort((a, b) => weightOf(b) - weightOf(a))
    .slice(0, limit)
    .map(({ reason }) => reason);
};
