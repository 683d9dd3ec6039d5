import { createPassageEmbedder, type PassageEmbedder } from "../../src/knowledge/search/passage-embedder.ts";
import { openBase } from "./knowledge-base.ts";
import { hybridQuality } from "./knowledge-quality.ts";
import type { QuestionSet } from "./knowledge-sets.ts";
import type { Figures, Table } from "./report.ts";

/** The table of code for everything, as it was before there was one for prose. */
const oneTable = (): PassageEmbedder => {
  const both = createPassageEmbedder();
  return {
    ...both,
    id: `${both.id}-code-only`,
    embedPassages: async (passages) => passages.map(({ text }) => both.tables.embedPassage("code", text)),
    embedQuery: async (text) => {
      const { code } = both.tables.embedQuery(text);
      return { prose: code, code };
    },
  };
};

/** One collection with the documents of all sets, asked the questions of each: with and without the table for prose. */
export const runMixed = async (
  sets: readonly QuestionSet[],
): Promise<{ readonly table: Table; readonly figures: Figures }> => {
  const rows: (readonly (string | number)[])[] = [];
  const figures: Record<string, Figures> = {};
  for (const [name, embedder] of [
    ["both tables", createPassageEmbedder()],
    ["table of code only", oneTable()],
  ] as const) {
    const base = await openBase(
      sets.flatMap(({ documents }) => documents),
      embedder,
    );
    const found: Record<string, Figures> = {};
    for (const set of sets) {
      const quality = await hybridQuality(base, set.questions);
      found[set.name] = { ...quality };
      rows.push([name, set.name, quality.ndcg, quality.mrr, quality.recall]);
    }
    figures[name.replaceAll(" ", "_")] = found;
    await base.close();
  }
  return {
    table: { head: ["all sets in one collection", "questions", "nDCG@10", "MRR", "recall@10"], rows },
    figures,
  };
};
