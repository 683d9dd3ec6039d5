export interface Scored {
  readonly id: number;
  readonly score: number;
}

/** A bounded heap of the best results; its root is the worst of them. */
export const createTopScored = (limit: number) => {
  const ids = new Float64Array(Math.max(0, limit));
  const scores = new Float64Array(Math.max(0, limit));
  let size = 0;

  const isWorse = (id: number, score: number, than: number): boolean => {
    const other = scores[than] ?? 0;
    return score < other || (score === other && id > (ids[than] ?? 0));
  };
  const put = (at: number, id: number, score: number): void => {
    ids[at] = id;
    scores[at] = score;
  };

  const siftUp = (id: number, score: number): void => {
    let at = size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isWorse(id, score, parent)) break;
      put(at, ids[parent] ?? 0, scores[parent] ?? 0);
      at = parent;
    }
    put(at, id, score);
  };

  const siftDown = (id: number, score: number): void => {
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && isWorse(ids[child + 1] ?? 0, scores[child + 1] ?? 0, child)) child++;
      if (isWorse(id, score, child)) break;
      put(at, ids[child] ?? 0, scores[child] ?? 0);
      at = child;
    }
    put(at, id, score);
  };

  return {
    /** Whether it would be kept; to be asked before slow checks. */
    accepts: (id: number, score: number): boolean => limit > 0 && (size < limit || !isWorse(id, score, 0)),
    add: (id: number, score: number): void => {
      if (limit <= 0) return;
      if (size < limit) siftUp(id, score);
      else if (!isWorse(id, score, 0)) siftDown(id, score);
    },
    /** Best first; of equal scores the smaller id, so that the answer does not depend on the order of adding. */
    sorted: (): readonly Scored[] =>
      Array.from({ length: size }, (_, at) => ({ id: ids[at] ?? 0, score: scores[at] ?? 0 })).sort(
        (a, b) => b.score - a.score || a.id - b.id,
      ),
  };
};
