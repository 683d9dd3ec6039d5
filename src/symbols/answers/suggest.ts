import { editDistance } from "../../base/text.ts";
import type { Table } from "../project/table.ts";
import { isPath, suggestFiles } from "./files.ts";

const MAX_WORD = 100;
const COUNT = 5;

/** Names similar to one that nothing has: in another case, a few edits away, or containing it; of a path, other paths. */
export const suggest = (table: Table, query: string): readonly string[] => {
  if (isPath(query)) return suggestFiles(table, query);
  const wanted = (query.split(/[.:#\\/]+/).at(-1) ?? "").toLowerCase().slice(0, MAX_WORD);
  if (wanted === "") return [];
  const plain = wanted.replaceAll("_", "");
  const limit = wanted.length <= 4 ? 1 : wanted.length <= 8 ? 2 : 3;
  const scored: { readonly name: string; readonly score: number }[] = [];
  for (const name of table.named.keys()) {
    if (name.length > MAX_WORD) continue;
    const small = name.toLowerCase();
    let score: number;
    if (small === wanted || small.replaceAll("_", "") === plain) score = 0;
    else {
      const isFar = Math.abs(wanted.length - small.length) > limit;
      const edits = isFar ? limit + 1 : editDistance(wanted, small);
      if (edits <= limit) score = edits;
      else if (wanted.length >= 3 && small.includes(wanted))
        score = limit + 1 + (small.length - wanted.length) / MAX_WORD;
      else continue;
    }
    scored.push({ name, score });
  }
  return scored
    .sort((a, b) => a.score - b.score || (a.name < b.name ? -1 : 1))
    .slice(0, COUNT)
    .map(({ name }) => name);
};
