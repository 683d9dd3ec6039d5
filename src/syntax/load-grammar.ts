import { Parser, Language as Syntax } from "web-tree-sitter";
import { readGrammar } from "../host/os/bundled-files.ts";
import { withV8Flags } from "../host/os/v8-flags.ts";
import type { Grammar } from "./language-table.ts";
import { setInput } from "./tree-sitter-core.ts";

/**
 * Grammars whose lexer is one function of megabytes. V8's optimising compiler needs from 300 MB to 3 GB for one of those,
 * and may end the process ("Fatal process out of memory: Zone"); its baseline compiler needs 10 MB, for code that parses at
 * half the speed at worst. `npm run bench -- grammars` measures both: parsing bash takes 600 MB without this and 90 MB with
 * it, Swift 2.8 GB and 100 MB. A worker cannot have V8 flags of its own, so they are set for the process, for the moment of
 * a first parse.
 */
export const BASELINE_ONLY: ReadonlySet<Grammar> = new Set<Grammar>([
  "arduino",
  "bash",
  "cpp",
  "cuda",
  "d",
  "elixir",
  "fortran",
  "julia",
  "kotlin",
  "objc",
  "perl",
  "powershell",
  "swift",
  "vim",
]);

const BASELINE_FLAGS = ["liftoff-only", "no-wasm-tier-up", "no-wasm-dynamic-tiering"];
const USUAL_FLAGS = ["no-liftoff-only", "wasm-tier-up", "wasm-dynamic-tiering"];

const SAMPLE = "a b\n";

/** The grammar's functions are compiled once, at their first call. */
const warmUp = (syntax: Syntax): void => {
  const parser = new Parser();
  parser.setLanguage(syntax);
  withV8Flags(BASELINE_FLAGS, USUAL_FLAGS, () => {
    setInput(SAMPLE);
    parser.parse(SAMPLE)?.delete();
  });
  parser.delete();
};

const load = async (grammar: Grammar): Promise<Syntax> => {
  const syntax = await Syntax.load(await readGrammar(grammar));
  if (BASELINE_ONLY.has(grammar)) warmUp(syntax);
  return syntax;
};

/** A thread loads each grammar once: it takes up to 10 MB. */
const loaded = new Map<Grammar, Promise<Syntax>>();

export const loadGrammar = (grammar: Grammar): Promise<Syntax> => {
  const known = loaded.get(grammar) ?? load(grammar);
  loaded.set(grammar, known);
  return known;
};
