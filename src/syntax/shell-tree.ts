import type { Node } from "web-tree-sitter";
import { LlmcError } from "../base/error.ts";
import { createParsers, type Parsers } from "./parsers.ts";

/** A node with all that is below it: it outlives the parser's memory. */
interface PlainNode {
  readonly type: string;
  readonly text: string;
  readonly start: number;
  readonly isNamed: boolean;
  readonly hasError: boolean;
  readonly children: readonly PlainNode[];
}

/** Deeper than people nest; whoever reads the tree calls itself once for each level. */
const MAX_DEPTH = 60;

const unreadable = (why: string): LlmcError =>
  new LlmcError("invalid_args", `The command line cannot be read: ${why}.`, {
    hint: "Make it shorter, or run its commands one by one.",
    details: { field: "command" },
  });

const toTree = (node: Node, depth: number): PlainNode => {
  if (depth > MAX_DEPTH) throw unreadable("it is nested too deeply");
  return {
    type: node.type,
    text: node.text,
    start: node.startIndex,
    isNamed: node.isNamed,
    hasError: node.hasError,
    children: node.children.map((child) => toTree(child, depth + 1)),
  };
};

let parsers: Promise<Parsers> | undefined;

/** Reads a command line with the grammar of bash, which is loaded when the first line needs it. */
export const parseShell = async (line: string): Promise<PlainNode> => {
  parsers ??= createParsers();
  const { tree, reason } = await (await parsers).parse("bash", line);
  if (tree === undefined) throw unreadable(reason);
  try {
    return toTree(tree.rootNode, 0);
  } finally {
    tree.delete();
  }
};
