export interface Scored {
  readonly id: number;
  readonly score: number;
}

const byScore = (a: Scored, b: Scored): number => b.score - a.score || a.id - b.id;

/** The best results. Of equal scores the smaller id is better, so that the answer does not depend on the order of adding. */
export const createTopScored = (limit: number) => {
  /** A heap, the worst on top: what is kept is known after each addition, and most of what comes is dropped at once. */
  const heap: Scored[] = [];
  const put = (scored: Scored): void => {
    // Down from the top, as long as a child is worse.
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const a = heap[left];
      const b = heap[left + 1];
      if (a === undefined) break;
      const isRight = b !== undefined && byScore(a, b) < 0;
      const worse = isRight ? b : a;
      if (byScore(scored, worse) >= 0) break;
      heap[at] = worse;
      at = isRight ? left + 1 : left;
    }
    heap[at] = scored;
  };
  const push = (scored: Scored): void => {
    let at = heap.length;
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up];
      if (parent === undefined || byScore(scored, parent) <= 0) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = scored;
  };
  const accepts = (id: number, score: number): boolean => {
    if (heap.length < limit) return true;
    const worst = heap[0];
    return worst !== undefined && (score > worst.score || (score === worst.score && id < worst.id));
  };
  return {
    /** What scores less is not kept. */
    floor: (): number => (heap.length < limit ? Number.NEGATIVE_INFINITY : (heap[0]?.score ?? Infinity)),
    /** Whether it would be kept; to be asked before slow checks. */
    accepts,
    add: (id: number, score: number): void => {
      if (heap.length < limit) push({ id, score });
      else if (accepts(id, score)) put({ id, score });
    },
    /** Best first. */
    sorted: (): readonly Scored[] => heap.toSorted(byScore),
  };
};
