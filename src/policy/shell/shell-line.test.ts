import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { parseShell } from "../../syntax/shell-tree.ts";
import { expandWord, globSegments, literalOf } from "./expand-word.ts";
import { readShellLine } from "./read-line.ts";

const read = async (line: string) => readShellLine(await parseShell(line));

const CONTEXT = { home: "/home/me", variable: (name: string) => ({ A: "one two", B: "-x", E: "" })[name] };

/** The arguments of the only command of a line. */
const argvOf = async (line: string): Promise<string[]> => {
  const [step] = await read(line);
  if (step?.body.kind !== "pipeline") throw new Error("not one command");
  return step.body.commands[0].args.flatMap((word) => expandWord(word, CONTEXT)).map(literalOf);
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
    `$A "$A" x$A.y "x\${A}y" $B $E "$E"`,
    "~ ~/x a~ '~' \"~/x\"",
    "--flag=value -5 +x a=b a#b %1 @x",
    '"  lead $A  trail  "',
    "a \\\n b",
    "héllo wörld",
  ])("%s are read as bash reads them", async (line) => {
    const bash = execFileSync("bash", ["-c", `A='one two' B=-x E=; printf '%s\\0' ${line}`], {
      env: { HOME: CONTEXT.home, LC_ALL: "C.UTF-8" },
      encoding: "utf8",
    });
    expect((await argvOf(`printf ${line}`)).slice(1)).toEqual(bash.split("\0").slice(0, -1));
  });

  test("globs are told from letters", async () => {
    const [step] = await read("ls *.js 'a*' [a-c]?.ts a\\*b src/**/x \"q\"*");
    if (step?.body.kind !== "pipeline") throw new Error("not one command");
    const fields = step.body.commands[0].args.flatMap((word) => expandWord(word, CONTEXT));
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
  ])("%#", async (line, message) => {
    await expect(read(line)).rejects.toThrow(message);
  });
});
