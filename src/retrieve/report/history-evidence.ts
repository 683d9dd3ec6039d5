import type { Evidence } from "./evidence.ts";

/** A file that the other evidence speaks for; the likeliest has the share 1. */
export interface LikelyFile {
  readonly path: string;
  readonly share: number;
}

/** To be changed together once may be chance. */
const MIN_TOGETHER = 2;
/** So many commits are assumed in which the likely file was changed alone: a short history proves little. */
const DOUBT = 2;

/** Files that were changed in the same commits as the likely ones. */
export const historyEvidence = (
  likely: readonly LikelyFile[],
  commits: readonly (readonly string[])[],
  isMeant: (path: string) => boolean,
): readonly Evidence[] =>
  likely.flatMap(({ path: known, share }) => {
    const own = commits.filter((paths) => paths.includes(known));
    const together = new Map<string, number>();
    for (const path of own.flat()) if (path !== known) together.set(path, (together.get(path) ?? 0) + 1);
    return [...together]
      .filter(([path, times]) => times >= MIN_TOGETHER && isMeant(path))
      .map(
        ([path, times]): Evidence => ({
          kind: "history",
          path,
          line: 0,
          strength: (share * times) / (own.length + DOUBT),
          reason: `changed with ${known} in ${times} commits`,
        }),
      );
  });
