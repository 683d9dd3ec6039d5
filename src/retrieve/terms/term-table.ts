/** Half empty, so that a probe seldom collides. */
const MAX_FILL = 0.5;

/** Ids of hashes, by open addressing: a Map takes ten times the memory, and five times as long to fill. */
export const createTermTable = () => {
  let hashes = new Uint32Array(1 << 16);
  let ids = new Int32Array(1 << 16).fill(-1);
  let byId = new Uint32Array(1 << 15);
  let size = 0;

  const slotOf = (hash: number): number => {
    const mask = ids.length - 1;
    let at = hash & mask;
    while (ids[at] !== -1 && hashes[at] !== hash) at = (at + 1) & mask;
    return at;
  };

  const grow = (): void => {
    const oldHashes = hashes;
    const oldIds = ids;
    hashes = new Uint32Array(oldIds.length * 2);
    ids = new Int32Array(oldIds.length * 2).fill(-1);
    oldIds.forEach((id, from) => {
      if (id === -1) return;
      const at = slotOf(oldHashes[from] ?? 0);
      hashes[at] = oldHashes[from] ?? 0;
      ids[at] = id;
    });
  };

  return {
    get size(): number {
      return size;
    },
    /** The id of a hash; new hashes get the next number, from 0. */
    idOf: (hash: number): number => {
      const at = slotOf(hash);
      const found = ids[at] ?? -1;
      if (found !== -1) return found;
      hashes[at] = hash;
      if (size === byId.length) {
        const larger = new Uint32Array(size * 2);
        larger.set(byId);
        byId = larger;
      }
      byId[size] = hash;
      ids[at] = size++;
      if (size > ids.length * MAX_FILL) grow();
      return size - 1;
    },
    /** -1 for an unknown hash. */
    find: (hash: number): number => ids[slotOf(hash)] ?? -1,
    hashOf: (id: number): number => byId[id] ?? 0,
  };
};

export type TermTable = ReturnType<typeof createTermTable>;
