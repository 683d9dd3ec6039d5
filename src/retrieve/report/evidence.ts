/** The kinds of evidence for a file. */
export type EvidenceKind =
  /** Its best chunk, as short questions rank it. */
  | "chunk"
  /** Its whole text, by BM25: several chunks that each have a part of the report. */
  | "file"
  /** A frame of a trace is in it; the innermost counts most. */
  | "frame"
  /** The report has its path, or a module name that means it. */
  | "path"
  /** A string in its code has the text of an error or warning. */
  | "message"
  /** A string in its code has an option or the key of a setting. */
  | "option"
  /** It defines what title or prose name. */
  | "name"
  /** It defines what the example code calls or imports. */
  | "example"
  /** What the example calls calls something in it. */
  | "callee"
  /** Tests that resemble the report import it. */
  | "test"
  /** Documents that resemble the report name it, or what it defines. */
  | "document"
  /** It was changed together with files that the rest speaks for. */
  | "history";

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

/** Two levels of weights and no more, by what a kind of evidence can say. */
export interface EvidenceLevels {
  /** The report points at one place in the source. */
  readonly sure: number;
  /** The report names something that a few files have; between them, the text decides. */
  readonly hint: number;
}

/** The text counts twice, by its best chunk and as a whole; every other kind by its level. */
export const weightsOf = ({ sure, hint }: EvidenceLevels): EvidenceWeights => {
  /** The report does not name it; something else leads there: a call, a test, a document, a commit. */
  const oneStepAway = hint / 2;
  return {
    chunk: 1,
    file: 1,
    frame: sure,
    path: sure,
    message: sure,
    option: hint,
    name: hint,
    example: hint,
    callee: oneStepAway,
    test: oneStepAway,
    document: oneStepAway,
    history: oneStepAway,
  };
};

/**
 * What the strongest evidence of each kind adds to the score of a file. To point at a place counts as much as the best chunk,
 * a hint a quarter of that. Half or twice of either, or of both, costs up to five hundredths of Acc@1
 * (`npm run bench -- localisation`); finer steps would be fitted (decision 030).
 */
export const EVIDENCE_WEIGHTS: EvidenceWeights = weightsOf({ sure: 1, hint: 0.25 });

/** Independent hints add up without ever passing certainty. */
const combineStrengths = (strengths: readonly number[]): number =>
  1 - strengths.reduce((doubt, strength) => doubt * (1 - Math.min(1, Math.max(0, strength))), 1);

/** Kinds of evidence by which a report points at one place. */
const POINTING: ReadonlySet<EvidenceKind> = new Set(["frame", "path", "message"]);

/** 0 to 1: how surely the report points at the file. */
export const certaintyOf = (evidence: readonly Evidence[]): number =>
  combineStrengths(evidence.filter(({ kind }) => POINTING.has(kind)).map(({ strength }) => strength));

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
