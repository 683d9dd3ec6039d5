import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { expandWord, globSegments, literalOf } from "./expand-word.ts";
import { createExpansionBudget } from "./expansion-budget.ts";
import { readShellLine } from "./read-line.ts";

const read = async (line: string) => readShellLine(line);

const CONTEXT = {
  home: "/home/me",
  variable: (name: string) => ({ A: "one two", B: "-x", E: "" })[name],
  budget: createExpansionBudget(),
};

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

describe("REQ-D23: what needs a shell is refused by its name", () => {
  test.each([
    ["for f in *; do cat $f; done", /a for loop/],
    ["while true; do ls; done", /a while loop/],
    ["if ls; then echo $(date); fi", /, and if needs one/],
    ["[[ -f x ]] && ls", /a test in double brackets/],
    ["ls $(pwd)", /command substitution/],
    ["ls `pwd`", /command substitution/],
    ['echo "a $(pwd)"', /command substitution/],
    ["echo $((1 + 1))", /arithmetic/],
    ["((a = 1))", /arithmetic/],
    [`echo \${A:-b}`, /parameter expansion/],
    ["echo $1 $@", /special parameters/],
    ["diff <(ls a) <(ls b)", /process substitution/],
    ["f() { ls; }", /a function/],
    ["A=(1 2)", /arrays/],
    ["A[0]=1", /arrays/],
    ["A+=1 ls", /appending to a variable/],
    ["declare A=1", /declare and its kin/],
    ["export A", /declare and its kin/],
    ["ls &", /a background job/],
    ["(ls; pwd) | cat", /a group in a pipeline/],
    ["ls | { cat; }", /a group in a pipeline/],
    ["{ ls; } > f", /redirecting a group/],
    ["ls 3> f", /a descriptor above 2/],
    ["ls 2>&-", /duplicating a descriptor/],
    ["cat <<EOF\n$A\nEOF", /a here-document with expansions/],
  ])("%s", async (line, message) => {
    await expect(read(line)).rejects.toThrow(message);
    await expect(read(line)).rejects.toThrow(/There is no shell here/);
  });

  test.each([
    "ls &&",
    "| ls",
    "ls | | cat",
    "ls ;; cat",
    "; ls",
    "ls | ! cat",
    "(ls",
    "ls )",
    "{ ls; ",
    "()",
    "ls >",
    "echo 'a",
    'echo "a',
    "cat <<EOF\na\n",
    "(".repeat(30),
    "( ".repeat(30),
  ])("%s is no line of a shell", async (line) => {
    await expect(read(line)).rejects.toThrow(/cannot be read|arithmetic/);
  });
});

describe("REQ-D23: here-documents and comments", () => {
  const inputs = async (line: string) =>
    (await read(line)).flatMap(({ body }) =>
      body.kind === "pipeline" ? body.commands.flatMap(({ redirections }) => redirections) : [],
    );
  const input = (text: string) => ({ kind: "input", content: [{ kind: "text", text, isQuoted: true }] });

  test("two of them end where their marks stand, and the line goes on behind", async () => {
    const line = "cat <<A && cat <<-'B' | wc -l # why\none\nA\n\t$two\n\tB\nls";
    expect(await inputs(line)).toEqual([input("one\n"), input("$two\n")]);
    expect((await read(line)).map(({ when }) => when)).toEqual(["always", "success", "always"]);
  });

  test("a # within a word is a letter", async () => {
    expect(await argvOf("echo a#b '#c' \\#d # e")).toEqual(["echo", "a#b", "#c", "#d"]);
  });
});
