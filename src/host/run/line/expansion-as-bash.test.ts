import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { isLong, rounds } from "../../../../test/rounds.ts";
import { LlmcError } from "../../../base/error.ts";
import { createExpansionBudget } from "../../../policy/shell/expansion-budget.ts";
import { readShellLine } from "../../../policy/shell/read-line.ts";
import { isPipedGroup } from "../../../policy/shell/shell-line.ts";
import { createAccess } from "../../reach/access.ts";
import { createReach } from "../../reach/reach.ts";
import { argumentsOf, firstState, type ShellState } from "./shell-state.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "llmc-words-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
for (const name of ["a", "abc", "b c", "B", "[x]", "a*", ".h", "x-y", "é", "~"])
  writeFileSync(join(folder, name), "");
mkdirSync(join(folder, "d/e"), { recursive: true });
writeFileSync(join(folder, "d/a.c"), "");
symlinkSync("d/e", join(folder, "link"));

const VARIABLES = { X: "v", Y: "a  b*", E: "", S: " s ", Q: "'", T: "~" };

/** Whatever has a meaning to a shell, and some that has none. */
const PIECES = [
  ..."'\"\\$ \t\n{}*?[]~#=:!,./-^%@+a1é",
  ..."'\"\\$ ",
  ...[
    "a",
    "abc",
    "b c",
    "d/",
    "1..3",
    "a..c",
    "a,b",
    ",",
    "..",
    "link/../",
    "[[:alpha:]]",
    "[!a]",
    "[^a]*",
    "[a-c]",
  ],
  ...[
    "$X",
    "$Y",
    `$\{X}`,
    ...[":-d", "-d", ":-", "#v", "##*/", "#*b", "##*b", "%*", "%%a*", "%b*", "%", "#"].flatMap((change) =>
      ["X", "Y", "E", "S", "N"].map((name) => `\${${name}${change}}`),
    ),
    ...["//b/c", ":1:2", "^^", ":?e", ":=d", "#?", "#[a]"].map((change) => `\${Y${change}}`),
    "$E",
    "$S",
    "$Q",
    "$T",
    '"$Y"',
    "'a b'",
    '"a b"',
    "$'\\n'",
    "$'\\x41'",
    "$'\\303\\251'",
  ],
  ...[
    "{a,b}",
    "{1..3}",
    "{a,",
    "}",
    "\\\n",
    "\\ ",
    "\\*",
    "\\{",
    "~/",
    "=~",
    ":~",
    "--o=",
    "$?",
    '$"x"',
    " ",
  ],
];

const texts = (count: number, seed: number): readonly string[] =>
  fc
    .sample(fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 9 }), { numRuns: count, seed })
    .map((pieces) => `p ${pieces.join("")}`);

const END = "\u0001";

/** What a program would get, line by line, from one bash for all of them. */
const inBash = (lines: readonly string[]): readonly string[] => {
  const scripts = lines.map((line, at) => {
    writeFileSync(join(folder, `d/e/${at}.sh`), line);
    return `( . d/e/${at}.sh ) 2>/dev/null; printf '${END}'`;
  });
  const values = Object.entries(VARIABLES).map(
    ([name, value]) => `${name}='${value.replaceAll("'", "'\\''")}'`,
  );
  const prelude = `p() { printf '<%s>' "$@"; echo; }\n${values.join("\n")}\n`;
  writeFileSync(join(folder, "d/e/all.sh"), prelude + scripts.join("\n"));
  const { stdout } = spawnSync("/bin/bash", ["d/e/all.sh"], {
    cwd: folder,
    env: { HOME: homedir(), LANG: "C.UTF-8", PATH: "/nonexistent" },
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  return stdout.split(END).slice(0, -1);
};

const access = createAccess(createReach({ workspace: folder, roots: () => ["."], denylist: () => [] }));
const STATE: ShellState = { ...firstState(folder), variables: VARIABLES };

/** The same as we would run it, or undefined where the line is refused. */
const read = async (line: string): Promise<string | undefined> => {
  try {
    let output = "";
    for (const { body } of readShellLine(line)) {
      if (body.kind !== "pipeline" || body.commands.length > 1) return undefined;
      const [command] = body.commands;
      if (isPipedGroup(command)) return undefined;
      const expansion = { access, budget: createExpansionBudget(), signal: undefined };
      const [program, ...args] = await argumentsOf(command.args, STATE, expansion);
      if (program === "p") output += `${args.length === 0 ? "<>" : args.map((one) => `<${one}>`).join("")}\n`;
    }
    return output;
  } catch (thrown) {
    if (thrown instanceof LlmcError) return undefined;
    throw thrown;
  }
};

test("REQ-D23 FAIL-C4 every line gives a program the arguments that bash gives it, or is refused", async () => {
  const seed = isLong ? Date.now() % 2 ** 31 : 20_261_116;
  const lines = texts(rounds(3000, 20_000), seed);
  const bash = inBash(lines);
  expect(bash).toHaveLength(lines.length);
  const differing: { line: string; ours: string; bash: string | undefined }[] = [];
  let ran = 0;
  for (const [at, line] of lines.entries()) {
    const ours = await read(line);
    if (ours === undefined) continue;
    ran++;
    if (ours !== bash[at]) differing.push({ line, ours, bash: bash[at] });
  }
  differing.sort((a, b) => a.line.length - b.line.length);
  expect(differing.slice(0, 20), `seed ${seed}: ${differing.length} of ${ran} differ`).toEqual([]);
  // Refusing everything would not be reading it.
  expect(ran / lines.length).toBeGreaterThan(0.3);
}, 120_000);

test.each([
  'p -r "build"\\ old',
  "p build/\\\ncache --opt=\\\nv",
  "p 'c'\\* $X\\/c \"x\"\\( $ \\ ",
  "p -c $ f; p a$ \"$\" '$'",
  "p a\\\n  b \\\n c",
])("REQ-D23 %j is one line of words", async (line) => {
  expect(await read(line)).toBe(inBash([line])[0]);
});
