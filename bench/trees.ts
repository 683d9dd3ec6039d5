import { fileURLToPath } from "node:url";
import type { Tree, TreeCursor } from "web-tree-sitter";
import { readFlatTree } from "../src/syntax/flat-tree.ts";
import { languageOf } from "../src/syntax/languages.ts";
import { createParsers } from "../src/syntax/parsers.ts";
import type { Benchmark } from "./lib/report.ts";
import { findSets } from "./lib/retrieval-sets.ts";
import { round } from "./lib/stats.ts";

const DATA = process.env["LLMC_BENCH_DATA"] ?? fileURLToPath(new URL("../../shared/data", import.meta.url));

/** What a flat tree holds of each node, asked of the public interface. */
const walkCursor = (cursor: TreeCursor): number => {
  let sum = cursor.nodeTypeId + cursor.startIndex + cursor.endIndex + cursor.currentFieldId;
  if (cursor.gotoFirstChild()) {
    do sum += walkCursor(cursor);
    while (cursor.gotoNextSibling());
    cursor.gotoParent();
  }
  return sum;
};

const byCursor = (tree: Tree): void => {
  const cursor = tree.walk();
  walkCursor(cursor);
  cursor.delete();
};

/** Whether reading trees out of tree-sitter's memory (`src/syntax/tree-reader.ts`) is worth its code. */
export const trees: Benchmark = {
  name: "trees",
  summary: "CPU time to parse sources, and to read their trees from memory and by the cursor",
  needs: "the question sets of ../shared/data, or of LLMC_BENCH_DATA",
  run: async ({ quick }) => {
    const code = findSets(DATA).sets.find(({ name }) => name === "code-search-dev");
    if (code === undefined)
      return { tables: [], notes: [`there is no code-search-dev in ${DATA}`], figures: {} };
    const parsers = await createParsers();
    const ms = { parse: 0, memory: 0, cursor: 0 };
    let bytes = 0;
    const timed = async <T>(key: keyof typeof ms, work: () => T): Promise<Awaited<T>> => {
      const before = process.cpuUsage();
      const result = await work();
      const { user, system } = process.cpuUsage(before);
      ms[key] += (user + system) / 1000;
      return result;
    };
    for (const { documents } of quick ? code.corpora.slice(0, 3) : code.corpora)
      for (const { path, text } of documents()) {
        const { grammar } = languageOf(path, text);
        if (grammar === undefined) continue;
        const { tree } = await timed("parse", () => parsers.parse(grammar, text));
        if (tree === undefined) continue;
        bytes += text.length;
        // In turns: whoever comes second finds a warm cache.
        const sides = [
          () => timed("memory", () => void readFlatTree(tree, text)),
          () => timed("cursor", () => byCursor(tree)),
        ];
        for (const side of bytes % 2 === 0 ? sides : sides.toReversed()) await side();
        tree.delete();
      }
    parsers.close();
    const mb = bytes / 1e6;
    const perMb = (value: number): number => round(value / mb, 1);
    const added = round(((ms.cursor - ms.memory) / (ms.parse + ms.memory)) * 100, 0);
    return {
      tables: [
        {
          head: ["step", "CPU ms per MB"],
          rows: [
            ["parse", perMb(ms.parse)],
            ["read from memory", perMb(ms.memory)],
            ["read by the cursor", perMb(ms.cursor)],
          ],
        },
      ],
      notes: [`the cursor would add ${added} % to parsing and reading`],
      figures: { parse: perMb(ms.parse), memory: perMb(ms.memory), cursor: perMb(ms.cursor) },
    };
  },
};
