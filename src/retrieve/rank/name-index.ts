import { joinName } from "./query-shape.ts";

/** Finds the chunks that define a name, in any spelling (`user_name`, `userName`). */
export const createNameIndex = () => {
  const chunksOf = new Map<string, Set<number>>();
  return {
    add: (chunkId: number, defines: readonly string[]): void => {
      for (const name of defines) {
        const joined = joinName(name);
        const chunks = chunksOf.get(joined);
        if (chunks === undefined) chunksOf.set(joined, new Set([chunkId]));
        else chunks.add(chunkId);
      }
    },
    remove: (chunkId: number, defines: readonly string[]): void => {
      for (const name of defines) {
        const joined = joinName(name);
        const chunks = chunksOf.get(joined);
        chunks?.delete(chunkId);
        if (chunks?.size === 0) chunksOf.delete(joined);
      }
    },
    /** Ids of the chunks that define it, smallest first. */
    find: (joinedName: string, limit: number, isWanted?: (chunkId: number) => boolean): readonly number[] => {
      const wanted = [...(chunksOf.get(joinedName) ?? [])].filter((id) => isWanted?.(id) ?? true);
      return wanted.sort((a, b) => a - b).slice(0, limit);
    },
  };
};
