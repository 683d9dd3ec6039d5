import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { Language, type Node, Parser } from "web-tree-sitter";
import { expandWord, globSegments, literalOf } from "./expand-word.ts";
import { readShellLine } from "./read-line.ts";
import type { ShellTree } from "./shell-line.ts";

await Parser.init();
const parser = new Parser();
parser.setLanguage(
  await Language.load(
    new URL("../../../node_modules/tree-sitter-wasm/out/bash/tree-sitter-bash.wasm", import.meta.url)
      .pathname,
  ),
);

const toTree = (node: Node): ShellTree => ({
  type: node.type,
  text: node.text,
  start: node.startIndex,
  isNamed: node.isNamed,
  hasError: node.hasError,
  children: node.children.flatMap((child) => (child === null ? [] : [toTree(child)])),
});

const read = (line: string) => {
  const tree = parser.parse(line);
  if (tree === null) throw new Error("not parsed");
  return readShellLine(toTree(tree.rootNode));
};

const CONTEXT = { home: "/home/me", variable: (name: string) => ({ A: "one two", B: "-x", E: "" })[name] };

/** The arguments of the only command of a line. */
const argvOf = (line: string): string[] => {
  const [step] = read(line);
  if (step?.run.kind !== "pipeline") throw new Error("not one command");
  return step.run.commands[0].args.flatMap((word) => expandWord(word, CONTEXT)).map(literalOf);
};

describe("REQ-D23: words", () => {
  test.each([
    "a 'b c' \"d e\"",
    "a\\ b c\\*d 'it'\\''s'",
    '"x\\"y" "a\\b" \'a\\b\' a\\\\b',
    "$'a\\n\\tb\\x41\\u00e9' x",
    "pre\"mid\"'post'end",
    "{a,b}c x{1..3} {a} {a,'b c'}d a{b,{c,d}}e",
    "src/{x,y}.ts \"{a,b}\" '{1..2}' \\{a,b}",
    '$A "$A" x$A.y "x${A}y" $B $E "$E"',
    "~ ~/x a~ '~' \"~/x\"",
    "--flag=value -5 +x a=b a#b %1 @x",
    '"  lead $A  trail  "',
    "a \\\n b",
    "héllo wörld",
  ])("%s are read as bash reads them", (line) => {
    const bash = execFileSync("bash", ["-c", `A='one two' B=-x E=; printf '%s\\0' ${line}`], {
      env: { HOME: CONTEXT.home, LC_ALL: "C.UTF-8" },
      encoding: "utf8",
    });
    expect(argvOf(`printf ${line}`).slice(1)).toEqual(bash.split("\0").slice(0, -1));
  });

  test("globs are told from letters", () => {
    const [step] = read("ls *.js 'a*' [a-c]?.ts a\\*b src/**/x \"q\"*");
    if (step?.run.kind !== "pipeline") throw new Error("not one command");
    const fields = step.run.commands[0].args.flatMap((word) => expandWord(word, CONTEXT));
    expect(fields.map(globSegments)).toEqual([
      undefined,
      ["*.js"],
      undefined,
      ["[a-c]?.ts"],
      undefined,
      ["src", "*", "x"],
      ["q*"],
    ]);
  });
});

describe("REQ-D23 FAIL-C1: a line is bounded", () => {
  test.each([
    ["ls; ".repeat(51), /more than 50 commands/],
    [`(${"ls; ".repeat(51)})`, /more than 50 commands/],
    [Array(13).fill("cat").join(" | "), /more than 12 programs in one pipeline/],
  ])("%#", (line, message) => {
    expect(() => read(line)).toThrow(message);
  });
});
