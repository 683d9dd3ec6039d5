import { joinName } from "./query-shape.ts";

/** Finds the chunks that have a name, by default in any spelling (`user_name`, `userName`). */
export const createNameIndex = (keyOf: (name: string) => string = joinName) => {
  const chunksOf = new Map<string, Set<number>>();
  return {
    add: (chunkId: number, names: readonly string[]): void => {
      for (const name of names) {
        const joined = keyOf(name);
        const chunks = chunksOf.get(joined);
        if (chunks === undefined) chunksOf.set(joined, new Set([chunkId]));
        else chunks.add(chunkId);
      }
    },
    remove: (chunkId: number, names: readonly string[]): void => {
      for (const name of names) {
        const joined = keyOf(name);
        const chunks = chunksOf.get(joined);
        chunks?.delete(chunkId);
        if (chunks?.size === 0) chunksOf.delete(joined);
      }
    },
    keys: (): Iterable<string> => chunksOf.keys(),
    /** Ids of the chunks that have the name of this key, smallest first. */
    find: (key: string, limit: number, isWanted?: (chunkId: number) => boolean): readonly number[] => {
      const wanted = [...(chunksOf.get(key) ?? [])].filter((id) => isWanted?.(id) ?? true);
      return wanted.sort((a, b) => a - b).slice(0, limit);
    },
  };
};
