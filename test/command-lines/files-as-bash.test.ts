import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { openTestApp } from "../app.ts";
import { isLong, rounds } from "../rounds.ts";

const FILES = [
  "f",
  "g",
  "new",
  "d/h",
  "f",
  "g",
  "d/h",
  "./f",
  "d/../f",
  "f/x",
  "nodir/x",
  "nodir/../f",
  "new",
  "$X",
  "#x",
  "{f,g}",
  "*",
];
const COMMANDS = [
  "echo a",
  "echo $X",
  "echo $Y",
  "echo {a,b}",
  "echo *",
  "printf 'x\\n'",
  "true",
  "false",
  "cd d",
  "cd nodir",
  "[ -e f ]",
  "[ -s g ]",
  "[ -d nodir ]",
  "X=1",
  "X=f",
  "X=2 Y=$X",
  "export Y=$X",
  "X=2 export Y=$X",
  "X=5 true",
  "",
];
const OPERATORS = [">", ">>", "2>", "2>>", "&>", ">|", "<", "1>"];
const JOINTS = [" && ", " || ", "; ", "\n", " | "];
const BREAKS = ["", "", "", "", "", "\\\n"];

const redirection = fc
  .tuple(
    fc.constantFrom(...OPERATORS),
    fc.constantFrom(...BREAKS),
    fc.constantFrom(" ", ""),
    fc.constantFrom(...FILES),
  )
  .map((parts) => parts.join(""));
const command = fc
  .tuple(
    fc.constantFrom(...COMMANDS),
    fc.array(fc.oneof({ weight: 4, arbitrary: redirection }, fc.constantFrom("2>&1", ">&2", "b")), {
      maxLength: 2,
    }),
  )
  .map(([program, rest]) => [program, ...rest].join(" "));
const lines = fc
  .array(fc.tuple(command, fc.constantFrom(...JOINTS)), { minLength: 1, maxLength: 4 })
  .map((steps) => steps.map(([text, joint], at) => (at === steps.length - 1 ? text : text + joint)).join(""))
  .map((text) => `X=g; ${text}`);

/** Every file of a folder with its content. */
const treeOf = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .sort()
      .map((name) => [
        name,
        statSync(join(folder, name)).isDirectory() ? "folder" : readFileSync(join(folder, name), "utf8"),
      ]),
  );

const fill = (folder: string): void => {
  mkdirSync(join(folder, "d"), { recursive: true });
  for (const [name, text] of [
    ["f", "old\n"],
    ["g", ""],
    ["d/h", "deep\n"],
  ] as const)
    writeFileSync(join(folder, name), text);
};

/** Bash says its own name before what it complains about. */
const unsigned = (text: string): string => text.replaceAll(/bash: line \d+: /g, "");

interface Compared {
  readonly line: string;
  readonly isRefused: boolean;
  readonly ours: unknown;
  readonly bash: unknown;
}

const compareAll = async (all: readonly string[]): Promise<readonly Compared[]> => {
  const app = await openTestApp({ config: '[mcp]\nmode = "classic"\n', files: { "here.txt": "" } });
  const twin = realpathSync(mkdtempSync(join(tmpdir(), "llmc-twin-")));
  onTestFinished(() => rmSync(twin, { recursive: true, force: true }));
  const compared: Compared[] = [];
  for (const [at, line] of all.entries()) {
    const [mine, other] = [join(app.root, `n${at}`), join(twin, `n${at}`)];
    for (const folder of [mine, other]) fill(folder);
    const result = await app.ask("run_cmd", { command: line, cwd: `n${at}` });
    const { stdout, status } = spawnSync("bash", ["-c", line], { cwd: other, encoding: "utf8" });
    const data =
      result.kind === "ok" ? (result.structured as { data: Record<string, unknown> }).data : undefined;
    compared.push({
      line,
      isRefused: data === undefined,
      ours: { stdout: data?.["stdout"], failed: data?.["exit_code"] !== 0, files: treeOf(mine) },
      bash: { stdout, failed: status !== 0, files: treeOf(other) },
    });
    for (const folder of [mine, other]) rmSync(folder, { recursive: true });
  }
  return compared;
};

describe("REQ-D23 files that a line writes are those that bash writes, or the line is refused", () => {
  test("random lines of built-in commands", async () => {
    const seed = isLong ? Date.now() % 2 ** 31 : 20_261_116;
    const compared = await compareAll(fc.sample(lines, { numRuns: rounds(150, 5000), seed }));
    const ran = compared.filter(({ isRefused }) => !isRefused);
    const differing = ran
      .filter(({ ours, bash }) => JSON.stringify(ours) !== unsigned(JSON.stringify(bash)))
      .sort((a, b) => a.line.length - b.line.length);
    expect(differing.slice(0, 10), `seed ${seed}: ${differing.length} of ${ran.length} differ`).toEqual([]);
    expect(ran.length / compared.length).toBeGreaterThan(0.3);
  }, 300_000);

  test.each([
    "echo a > nodir/x || echo no",
    "echo a >> nodir/x; echo b > f",
    "true < nodir/x || echo no",
    "echo [ a ] [",
    "echo a > [",
    "echo a 1>f 2>g",
    "echo a > f > g",
    "echo a &> f",
    "echo {Y..Z} {a..c} {c..a}",
    "mkdir=1; echo $mkdir",
  ])("%j does the same", async (line) => {
    const [{ ours, bash, isRefused } = { ours: 1, bash: 2, isRefused: true }] = await compareAll([line]);
    expect(isRefused).toBe(false);
    expect(ours).toEqual(bash);
  });

  test.each([
    ["echo a > o 2> o", "writing to one file by two redirections"],
    ["echo a > o 2>> d/../o", "writing to one file by two redirections"],
    ["echo a > f | echo b > f", "writing to one file by two redirections"],
    ["echo {Z..a}", "a range from capital to small letters"],
    ["echo {a..Z}", "a range from capital to small letters"],
    ["echo a 0\\\n1>f", "a redirection"],
    ["echo hi > #x", "the target of a redirection"],
    ["echo a <<EO\\\nF\nx\nEOF", "end mark"],
    ["echo a <<\\\n-EOF\nx\nEOF", "end mark"],
    ["X=2 export Y=$X", "export"],
    ["export X={a,b}", "export"],
    ["PWD=/x; echo $PWD", "the variable PWD"],
    ["_=5; echo $_", "the variable _"],
    ["UID=5; echo $UID", "the variable UID"],
    ["GLOBIGNORE=f; echo *", "the variable GLOBIGNORE"],
  ])("%j is refused, and the construct is named", async (command, named) => {
    const app = await openTestApp({ files: { f: "old\n", "d/h": "" } });
    const result = await app.ask("run_cmd", { command });
    expect(result).toMatchObject({ kind: "error", error: { code: "invalid_args" } });
    expect(JSON.stringify(result)).toContain(named);
    expect(readFileSync(join(app.root, "f"), "utf8")).toBe("old\n");
  });
});
