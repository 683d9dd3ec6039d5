import type { ContentHit } from "./contract.ts";

/** About 2,000 tokens of source code with line numbers. */
const PAGE_CHARS = 6500;
/** Programs get overlapping contexts with each hit; what they get is bounded as well. */
const MAX_CHARS = 3 * PAGE_CHARS;
/** Of a line beside its text: its number, a mark and its end. */
const LINE_CHARS = 6;

/** As many of the first hits as a page has room for, at least one. Contexts that overlap are shown once. */
export const fitPage = (hits: readonly ContentHit[]): readonly ContentHit[] => {
  let shown = 0;
  let all = 0;
  let path: string | undefined;
  let shownTo = 0;
  for (const [at, hit] of hits.entries()) {
    if (hit.path !== path) {
      shown += hit.path.length + 1;
      shownTo = 0;
    }
    path = hit.path;
    all += hit.snippet.length + hit.path.length;
    for (const [i, text] of hit.snippet.split("\n").entries())
      if (hit.firstLine + i > shownTo) {
        shown += text.length + LINE_CHARS;
        shownTo = hit.firstLine + i;
      }
    if (at > 0 && (shown > PAGE_CHARS || all > MAX_CHARS)) return hits.slice(0, at);
  }
  return hits;
};
