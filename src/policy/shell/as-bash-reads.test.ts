import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { rounds } from "../../../test/rounds.ts";
import { readShellLine } from "./read-line.ts";
import {
  type Group,
  isPipedGroup,
  type PipelinePart,
  type Redirection,
  type ShellCommand,
  type ShellLine,
  type ShellWord,
} from "./shell-line.ts";

const createRandom = (seed: number) => {
  let state = seed;
  const next = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  return {
    next,
    pick: (...choices: readonly string[]): string => choices[next(choices.length)] ?? "",
    chance: (percent: number): boolean => next(100) < percent,
  };
};
type Random = ReturnType<typeof createRandom>;

const ARGUMENTS = ["a", "'b c'", '"d"', "3", "e=f", "-x", "g.h", "1", "'2>&1'", "'|'"];
const PROGRAMS = ["say", "say", "both", "both", "pass", "fail", "sum", "export V=w"];

/** Files are written under names of their own: the commands of a pipeline run at the same time. */
const createRedirections = (random: Random) => {
  let files = 0;
  return (): string => {
    const chosen = random.pick(
      "2>&1",
      "2>&1",
      "2>/dev/null",
      "> ",
      ">",
      "< in",
      "1>&2",
      "&> ",
      ">| ",
      "2> ",
      ">&2",
    );
    return /(?:> ?|\| )$/.test(chosen) ? `${chosen}f${files++}` : chosen;
  };
};

/** A program with arguments and redirections at every position; some fail, some write to both streams. */
const programText = (random: Random, redirection: () => string): string => {
  const { pick, chance, next } = random;
  const program = pick(...PROGRAMS);
  const candidates = program.startsWith("export") ? ["e=f"] : ARGUMENTS;
  const args = Array.from({ length: next(4) }, () => pick(...candidates));
  for (let at = chance(50) ? 0 : 1 + next(2); at > 0; at--)
    args.splice(next(args.length + 1), 0, redirection());
  const before = chance(10) ? [redirection()] : [];
  // In front of export it is refused: bash does not keep it there.
  const assignment = chance(10) && !program.startsWith("export") ? [pick("V=1", "W='x y'", "V=")] : [];
  return [...assignment, ...before, program, ...args].join(" ");
};

const commandText = (random: Random, redirection: () => string): string =>
  random.chance(8)
    ? random.pick("V=2", "V=3 W=4", "> empty", "V=5 # note\npass")
    : programText(random, redirection);

const lineText = (random: Random, redirection: () => string): string => {
  const { pick, chance, next } = random;
  const statement = (percent: number): string =>
    `${chance(percent) ? pick("! ", "! ", "! ! ") : ""}${commandText(random, redirection)}`;
  let text = statement(10);
  for (let at = next(6); at > 0; at--) {
    const operator = pick("|", "|", "|&", "&&", "&&", "||", ";", "\n");
    const gap = chance(20) && operator !== ";" ? pick("\n", "\n\n", " # why\n") : pick(" ", "", "\t");
    text += `${pick(" ", " ", "")}${operator}${gap}${statement(/^\|&?$/.test(operator) ? 0 : 10)}`;
  }
  return text;
};

/** A group in a line, also in a pipeline and with redirections. */
const groupText = (random: Random, redirection: () => string): string => {
  const line = (): string => lineText(random, redirection);
  const operator = (): string => random.pick("&&", "||", ";", "|", "|", "|&");
  const before = random.chance(50) ? `${line()} ${operator()} ` : "";
  const [open, close] = random.chance(50) ? ["( ", " )"] : ["{ ", "\n}"];
  // Input for a group is refused.
  const redirected = random.chance(30) ? ` ${redirection().replace(/^< in$/, "2>&1")}` : "";
  const after = random.chance(50) ? ` ${operator()} ${line().replace(/^(! )+/, "")}` : "";
  return `${before}${open}${line()}${close}${redirected}${after}`;
};

const quoted = (word: ShellWord): string =>
  word
    .map((part) => (part.kind === "text" ? `'${part.text.replaceAll("'", "'\\''")}'` : `"$${part.name}"`))
    .join("");

const printRedirection = (one: Redirection): string => {
  if (one.kind === "copy") return `${one.fd}>&${one.of}`;
  if (one.kind === "input") return `< <(printf %s ${quoted(one.content)})`;
  return `${one.fd}${{ read: "<", write: ">|", append: ">>" }[one.access]}${quoted(one.target)}`;
};

const printCommand = ({ assignments, args, redirections }: ShellCommand): string => {
  const candidates = args.map(quoted);
  const values = assignments.map(({ name, value }) => `${name}=${quoted(value)}`);
  // An assignment without a program reaches the programs behind it.
  const set = candidates.length === 0 && values.length > 0 ? ["export"] : [];
  return [...set, ...values, ...candidates, ...redirections.map(printRedirection)].join(" ") || ":";
};

const printGroup = ({ isSubshell, line }: Pick<Group, "isSubshell" | "line">): string => {
  const [open, close] = isSubshell ? ["(", ")"] : ["{", "}"];
  return `${open} status=0\n${printLine(line)}\n${isSubshell ? "exit $status" : "set_status $status"}\n${close}`;
};

const printPart = (part: PipelinePart): string =>
  isPipedGroup(part)
    ? `${printGroup(part)} ${part.redirections.map(printRedirection).join(" ")}`
    : `{ ${printCommand(part)}\n}`;

/** Our reading as a script that leaves bash nothing to bind: one command in each pair of braces. */
const printLine = (line: ShellLine): string =>
  line
    .map(({ when, body }) => {
      const script = body.kind === "group" ? printGroup(body) : body.commands.map(printPart).join(" | ");
      const step = `${body.isNegated ? "! " : ""}${script}\nstatus=$?`;
      if (when === "always") return step;
      return `if [ $status ${when === "success" ? "=" : "!="} 0 ]; then\n${step}\nfi`;
    })
    .join("\n");

/** Programs read their input to its end first: how two that run at the same time take turns changes nothing then. */
const PRELUDE = `
trap '' PIPE
drain() { count=0; while read -r line; do count=$((count + 1)); done; }
say() { drain; echo "$V $W $*" 2>/dev/null; }
both() { drain; echo "err $*" >&2; echo "out $*" 2>/dev/null; [ "$#" != 2 ]; }
pass() { drain; }
fail() { drain; return 3; }
sum() { drain; echo "$count lines" 2>/dev/null; }
set_status() { return "$1"; }
printf 'a\\nb a\\n' > in
`;

const sorted = (text: string): string => text.split("\n").sort().join("\n");

const folder = mkdtempSync(join(tmpdir(), "llmc-as-bash-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What each script writes, its exit code and the files it leaves, all in one process. */
const runAll = (scripts: readonly string[]): readonly string[] => {
  const separator = "\u0001";
  const body = scripts
    .map((script, at) => {
      writeFileSync(join(folder, `${at}.sh`), script);
      return `( . ./${at}.sh ) </dev/null 2>err; echo "status $?"; grep -s '' err f? f??; rm -f f? f??; printf '${separator}'`;
    })
    .join("\n");
  const { stdout } = spawnSync("bash", ["-c", `${PRELUDE}\n${body}`], {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout.split(separator).slice(0, -1).map(sorted);
};

const readOrExplain = (text: string): string => {
  try {
    return printLine(readShellLine(text));
  } catch (error) {
    return `echo refused: ${JSON.stringify(String(error))}`;
  }
};

test("REQ-D23 random lines are bound as bash binds them", () => {
  const random = createRandom(20261116);
  const texts = Array.from({ length: rounds(200, 20_000) }, () =>
    (random.chance(35) ? groupText : lineText)(random, createRedirections(random)),
  );
  const readings = texts.map((text) => `status=0\n${readOrExplain(text)}\nexit $status`);
  const bash = runAll(texts.map((text) => `set -a\n${text}\n`));
  const ours = runAll(readings);
  expect(bash).toHaveLength(texts.length);
  const differing = texts.flatMap((text, at) =>
    bash[at] === ours[at] ? [] : [{ text, bash: bash[at], ours: ours[at], reading: readings[at] }],
  );
  expect(differing.slice(0, 5)).toEqual([]);
}, 120_000);
