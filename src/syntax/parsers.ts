import { Parser, type Language as Syntax, type Tree } from "web-tree-sitter";
import type { Grammar } from "./language-table.ts";
import { loadGrammar } from "./load-grammar.ts";
import { setInput, startTreeSitter } from "./tree-sitter-core.ts";

/** Either a tree, which the caller deletes, or why there is none. */
export type Parse =
  | { readonly tree: Tree; readonly reason?: undefined }
  | { readonly tree?: undefined; readonly reason: string };

export interface ParserLimits {
  readonly maxChars: number;
  /** A file may take `steps + stepsPerChar * characters` steps (of about a hundred operations), but at most `maxSteps`. */
  readonly steps: number;
  readonly stepsPerChar: number;
  readonly maxSteps: number;
  /** A last resort, for slow steps. */
  readonly timeoutMs: number;
}

/**
 * Ordinary source needs 0.005 to 0.02 steps per character, at 30 to 200 µs each. Steps decide before the clock does, so
 * that a busy machine cuts a file as an idle one does.
 */
export const PARSER_LIMITS: ParserLimits = {
  maxChars: 1_500_000,
  steps: 1_000,
  stepsPerChar: 0.06,
  maxSteps: 40_000,
  timeoutMs: 5_000,
};

export const createParsers = async (limits: ParserLimits = PARSER_LIMITS) => {
  await startTreeSitter();
  let parser: Parser | undefined = new Parser();

  const parse = async (grammar: Grammar, text: string): Promise<Parse> => {
    if (text.length > limits.maxChars) return { reason: `larger than ${limits.maxChars} characters` };
    let syntax: Syntax;
    try {
      syntax = await loadGrammar(grammar);
    } catch {
      return { reason: `the grammar ${grammar} does not load` };
    }
    const deadline = performance.now() + limits.timeoutMs;
    let steps = Math.min(limits.maxSteps, limits.steps + limits.stepsPerChar * text.length);
    const isOver = (): boolean => --steps < 0 || performance.now() > deadline;
    try {
      parser ??= new Parser();
      parser.setLanguage(syntax);
      setInput(text);
      const tree = parser.parse(text, null, { progressCallback: isOver });
      if (tree !== null) return { tree };
      parser.reset();
      return { reason: "parsing takes too long" };
    } catch {
      // A parser that trapped is in an unknown state: it is never used again, nor freed.
      parser = undefined;
      return { reason: "the parser crashed" };
    }
  };

  return {
    /** Loads the grammar once; the tree lives in WASM memory until `tree.delete()`. */
    parse,
    /** Frees the parser. Trees stay valid. */
    close: (): void => {
      parser?.delete();
      parser = undefined;
    },
  };
};

export type Parsers = Awaited<ReturnType<typeof createParsers>>;
