import { expect, test } from "vitest";
import { LANGUAGE_TABLE } from "../../syntax/language-table.ts";
import { loadGrammar } from "../../syntax/load-grammar.ts";
import { createParsers } from "../../syntax/parsers.ts";
import { OUTLINE_TABLE } from "./outline-table.ts";

test("every grammar of the table of languages loads, and has the nodes that its row names", async () => {
  await createParsers();
  const wrong: string[] = [];
  for (const grammar of new Set(LANGUAGE_TABLE.flatMap((row) => row.grammar ?? []))) {
    const { types } = await loadGrammar(grammar);
    const row = OUTLINE_TABLE[grammar];
    const named = [row?.defines, row?.scopes, row?.top, row?.through, row?.leading].join(" ").split(" ");
    for (const type of named) if (type !== "" && !types.includes(type)) wrong.push(`${grammar}: ${type}`);
  }
  expect(wrong).toEqual([]);
});
