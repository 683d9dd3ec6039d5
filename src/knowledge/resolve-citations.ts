import { LlmcError, toLlmcError } from "../base/error.ts";
import { checkCollection, type KnowledgeCaller } from "./api/caller.ts";
import type { ResolvedCitation } from "./api/contract.ts";
import { type ChunkId, parseChunkId } from "./api/ids.ts";
import type { Catalogue } from "./catalogue.ts";
import { exactVersion, gone } from "./exact-version.ts";
import { citationOf } from "./search/cite.ts";
import type { Store } from "./store/contract.ts";

interface Asked {
  readonly id: ChunkId;
  /** As it was given. */
  readonly text: string;
  /** Its position among all. */
  readonly at: number;
}

/** Citations of one version. Each one that no longer exists gets an error of its own; the others are not affected. */
const resolveVersion = async (
  { catalogue, store }: { readonly catalogue: Catalogue; readonly store: Store },
  { collection, version }: ChunkId,
  asked: readonly Asked[],
): Promise<readonly ResolvedCitation[]> => {
  try {
    const generation = exactVersion(await catalogue.find(collection), version, "passage");
    const found = await store.readPositions(
      generation.id,
      asked.map(({ id: { key, ordinal } }) => ({ key, ordinal })),
    );
    const byPosition = new Map(found.map((one) => [`${one.document.key}#${one.ordinal}`, one]));
    return asked.map(({ id, text }) => {
      const passage = byPosition.get(`${id.key}#${id.ordinal}`);
      return passage === undefined
        ? { title: text, error: gone("passage").message }
        : citationOf(passage, generation);
    });
  } catch (thrown) {
    if (!(thrown instanceof LlmcError) || thrown.code !== "resource_not_found") throw thrown;
    return asked.map(({ text }) => ({ title: text, error: thrown.message }));
  }
};

/** In the order of the ids, each of which may have an error of its own; where there is only one, the call has it. The store is queried once for each version. */
export const resolveCitations = async (
  parts: { readonly catalogue: Catalogue; readonly store: Store },
  chunkIds: readonly string[],
  caller: KnowledgeCaller,
): Promise<readonly ResolvedCitation[]> => {
  const resolved: ResolvedCitation[] = [];
  const asked = chunkIds.flatMap((text, at): readonly Asked[] => {
    try {
      return [{ id: parseChunkId(text), text, at }];
    } catch (thrown) {
      if (chunkIds.length === 1) throw thrown;
      resolved[at] = { title: text, error: toLlmcError(thrown).message };
      return [];
    }
  });
  for (const name of new Set(asked.map(({ id }) => id.collection))) checkCollection(caller, name);
  for (const group of Map.groupBy(asked, ({ id }) => `${id.collection}@${id.version}`).values()) {
    const [one] = group;
    if (one === undefined) continue;
    const found = await resolveVersion(parts, one.id, group);
    group.forEach(({ at }, index) => {
      const citation = found[index];
      if (citation !== undefined) resolved[at] = citation;
    });
  }
  return resolved;
};
