export interface Scored {
  readonly id: number;
  readonly score: number;
}

const byScore = (a: Scored, b: Scored): number => b.score - a.score || a.id - b.id;

/** The best results. Of equal scores the smaller id is better, so that the answer does not depend on the order of adding. */
export const createTopScored = (limit: number) => {
  let kept: Scored[] = [];
  let worst: Scored | undefined;
  const trim = (): void => {
    kept = kept.sort(byScore).slice(0, Math.max(0, limit));
    worst = kept.length === limit ? kept.at(-1) : undefined;
  };
  const accepts = (id: number, score: number): boolean =>
    limit > 0 && (worst === undefined || score > worst.score || (score === worst.score && id < worst.id));
  return {
    /** What scores less is not kept. */
    floor: (): number => worst?.score ?? Number.NEGATIVE_INFINITY,
    /** Whether it would be kept; to be asked before slow checks. */
    accepts,
    add: (id: number, score: number): void => {
      if (!accepts(id, score)) return;
      kept.push({ id, score });
      if (kept.length >= 2 * limit) trim();
    },
    /** Best first. */
    sorted: (): readonly Scored[] => {
      trim();
      return kept;
    },
  };
};
