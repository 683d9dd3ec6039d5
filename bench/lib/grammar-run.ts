import { Language, Parser } from "web-tree-sitter";
import { readGrammar } from "../../src/host/os/bundled-files.ts";
import type { Grammar } from "../../src/syntax/language-table.ts";
import { loadGrammar } from "../../src/syntax/load-grammar.ts";
import { createParsers } from "../../src/syntax/parsers.ts";
import { setInput } from "../../src/syntax/tree-sitter-core.ts";
import { peakMb } from "./resident.ts";

/** The parameters of a run, as JSON in its only argument. */
export interface GrammarRun {
  readonly grammar: Grammar;
  readonly source: string;
  /** As the server loads it; otherwise with V8's own choice of compilers. */
  readonly asServer: boolean;
  readonly ms: number;
}

/** What it prints, as JSON. */
export interface GrammarRunResult {
  readonly mbPerSecond: number;
  readonly peakMb: number;
}

const { grammar, source, asServer, ms } = JSON.parse(process.argv[2] ?? "{}") as GrammarRun;
// Loads tree-sitter itself, which every server has.
(await createParsers()).close();
const syntax = asServer ? await loadGrammar(grammar) : await Language.load(await readGrammar(grammar));
const text = source.repeat(Math.ceil(20_000 / source.length));
const parser = new Parser();
parser.setLanguage(syntax);
const startedMs = performance.now();
let chars = 0;
while (performance.now() - startedMs < ms) {
  setInput(text);
  parser.parse(text)?.delete();
  chars += text.length;
  await new Promise(setImmediate);
}
const result: GrammarRunResult = {
  mbPerSecond: chars / 1e3 / (performance.now() - startedMs),
  peakMb: await peakMb(process.pid),
};
process.stdout.write(JSON.stringify(result));
process.exit(0);
