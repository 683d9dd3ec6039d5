import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { expandWord, globSegments, literalOf } from "./expand-word.ts";
import { createExpansionBudget } from "./expansion-budget.ts";
import { readShellLine } from "./read-line.ts";
import { isPipedGroup } from "./shell-line.ts";

const read = async (line: string) => readShellLine(line);

const CONTEXT = {
  home: "/home/me",
  variable: (name: string) => ({ A: "one two", B: "-x", E: "" })[name],
  budget: createExpansionBudget(),
};

/** The words of the first command of a line. */
const firstCommand = async (line: string) => {
  const [step] = await read(line);
  const command = step?.body.kind === "pipeline" ? step.body.commands[0] : undefined;
  if (command === undefined || isPipedGroup(command)) throw new Error("not one command");
  return command.args.flatMap((word) => expandWord(word, CONTEXT));
};

const argvOf = async (line: string): Promise<string[]> => (await firstCommand(line)).map(literalOf);

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
    const fields = await firstCommand("ls *.js 'a*' [a-c]?.ts a\\*b src/**/x \"q\"*");
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
    ["[[ -f x && -d y ]] && ls", /this test in double brackets needs one/],
    ["ls $(pwd)", /command substitution/],
    ["ls `pwd`", /command substitution/],
    ['ls "$(cat <<A; ls\nx\nA\n)"', /command substitution/],
    ['ls "$(cat <<A\nx\nA\nls)"', /command substitution/],
    ['ls "$(cat x <<A\nx\nA\n)"', /command substitution/],
    ['ls "$(cat <<A\n$x\nA\n)"', /a here-document with expansions/],
    ["ls $(cat <<A\nx y\nA\n)", /command substitution/],
    ["ls x=$(cat <<A\n*\nA\n)", /command substitution/],
    ["ls $(cat <<A\n\nA\n)", /command substitution/],
    ["ls > $(cat <<A\nx y\nA\n)", /command substitution/],
    ['cat <<B "$(cat <<A\nx\nA\n)"\ny\nB', /command substitution/],
    ["X=1 export Y=$X", /declare and its kin/],
    ["export X={a,b}", /declare and its kin/],
    ["PWD=/x; echo $PWD", /the variable PWD/],
    ["_=5; echo $_", /the variable _/],
    ["UID=5 ls", /the variable UID/],
    ["CDPATH=x cd y", /the variable CDPATH/],
    ['echo "a $(pwd)"', /command substitution/],
    ["echo $((1 + 1))", /arithmetic/],
    ["((a = 1))", /arithmetic/],
    [`echo \${A:=b}`, /parameter expansion/],
    ["echo $1 $@", /special parameters/],
    ["diff <(ls a) <(ls b)", /process substitution/],
    ["f() { ls; }", /a function/],
    ["A=(1 2)", /arrays/],
    ["A[0]=1", /arrays/],
    ["A+=1 ls", /appending to a variable/],
    ["declare A=1", /declare and its kin/],
    ["export A", /declare and its kin/],
    ["ls &", /a background job/],
    ["{ ls; } < f", /input for a group/],
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
    "ls > #x",
    "ls >#x",
    "ls a 0\\\n1>f",
    "cat <<EO\\\nF\n$x\nEOF",
    "cat <<\\\n-EOF\n\tx\n\tEOF",
    'ls "$(cat <<A\nx',
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

describe("REQ-D23: a substitution that is only a way to write text", () => {
  test.each([
    '"$(cat <<\'EOF\'\nfix: it\'s "so" $x `y` \\ (z)\n\n- one)\n\n\nEOF\n)" end',
    '"$(cat <<EOF\nit\'s (ok) "q"\nEOF\n)"',
    "\"a $(cat <<-'E'\n\t\tb\n\tE\n  )c $A\"",
    '"$( cat<<"E" \n)"\nE\n\n)"',
    '"$(cat <<\\E\n$x\nE\n)"',
    "\"$(cat <<'E'\nE\n)\" \"$(cat <<'E'\n  ~ {a,b} *\nE\n)\"",
    "$(cat <<'E'\nabc\nE\n)d",
    "--m=$(cat <<'E'\nab~{c,d}\nE\n)",
  ])("%j", async (tokens) => {
    const bash = execFileSync("bash", ["-c", `A='one two'; printf '%s\\0' ${tokens}`], { encoding: "utf8" });
    expect((await argvOf(`printf ${tokens}`)).slice(1)).toEqual(bash.split("\0").slice(0, -1));
  });

  test("is the value of a variable, too, without quotes around it", async () => {
    const [first, second] = await read("M=$(cat <<'E'\na  b *\n\nE\n); export N=$(cat <<'E'\n~\nE\n)");
    const text = (value: string) => [{ kind: "text", text: value, isQuoted: true }];
    expect(first?.body).toMatchObject({
      commands: [{ assignments: [{ name: "M", value: text("a  b *") }] }],
    });
    expect(second?.body).toMatchObject({ commands: [{ assignments: [{ name: "N", value: text("~") }] }] });
  });

  test("the refusal of another one in a commit shows the way without", async () => {
    const hint = (line: string) => read(line).catch((thrown: { hint?: string }) => thrown.hint);
    expect(await hint('git add . && git -C x commit -a -m "$(date)"')).toContain("git commit -F - <<'EOF'");
    expect(await hint('git commit -m x; ls "$(date)"')).not.toContain("commit");
  });
});
