import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A small project whose facts are known: who wrote which TODO, what is used where, which tests fail. */
export interface ProgramTree {
  readonly todosByAuthor: Readonly<Record<string, number>>;
  /** Files that import `config` and log. */
  readonly joined: readonly string[];
  readonly failures: Readonly<
    Record<string, { readonly tests: number; readonly failed: number; readonly slowest: string }>
  >;
  readonly deadExports: readonly string[];
  /** How many files name the symbol that is renamed. */
  readonly renamed: number;
  /** The files that differ from what the rename has to make of them. */
  wrongAfterRename(): readonly string[];
}

const AUTHORS = ["Ann", "Bob", "Cem", "Dua"];
const FILES = 60;
const PACKAGES = 10;
const TESTS = 40;

const sourceOf = (at: number): string => {
  const next = (at + 1) % FILES;
  const lines = [
    `import { load } from "../lib/load.ts";`,
    ...(at % 3 === 0 ? [`import { config } from "../lib/config.ts";`] : []),
    // Every sixth export is used by nobody.
    ...(next % 6 === 5 ? [] : [`import { value${next} } from "./part${next}.ts";`]),
    "",
    `/** Part ${at} of the shop: prices, stock and the words that customers see. */`,
    `export const value${at} = (input: string): string => {`,
    ...(at % 5 === 0 ? [`  // TODO: handle an empty input of part ${at}`] : []),
    `  const loaded = ${at < 50 ? "load(input)" : "input"};`,
    ...(at % 2 === 0 ? [`  console.log("part ${at}", loaded);`] : []),
    ...(at % 3 === 0 ? ["  if (config.strict) throw new Error(loaded);"] : []),
    ...(next % 6 === 5 ? ["  return loaded;"] : [`  return value${next}(loaded);`]),
    "};",
    "",
  ];
  return lines.join("\n");
};

const reportOf = (at: number) =>
  Array.from({ length: TESTS }, (_, test) => ({
    name: `package ${at} does thing ${test} as its users expect`,
    status: (at + test) % 13 === 0 ? "failed" : "passed",
    duration_ms: ((at * 31 + test * 17) % 97) + 1,
    file: `packages/p${at}/test/thing${test}.test.ts`,
  }));

/** The symbol, and not the file of that name. */
const rename = (text: string): string => text.replaceAll(/\bload\b(?!\.ts)/g, "loadInput");

const git = (root: string, args: readonly string[], author = "Ann"): void => {
  const env = { ...process.env, GIT_AUTHOR_NAME: author, GIT_AUTHOR_EMAIL: "a@example.org" };
  const own = ["-c", "user.name=Bench", "-c", "user.email=bench@example.org"];
  execFileSync("git", [...own, ...args], { cwd: root, env, stdio: "ignore" });
};

export const createProgramTree = (root: string): ProgramTree => {
  const sources = new Map<string, string>();
  const write = (path: string, text: string): void => {
    if (path.startsWith("src/")) sources.set(path, text);
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  git(root, ["init", "-q"]);
  write("src/lib/load.ts", "export const load = (input: string): string => input.trim();\n");
  write("src/lib/config.ts", "export const config = { strict: false };\n");
  for (const [index, author] of AUTHORS.entries()) {
    for (let at = index; at < FILES; at += AUTHORS.length) write(`src/parts/part${at}.ts`, sourceOf(at));
    git(root, ["add", "-A"]);
    git(root, ["commit", "-q", "-m", `parts of ${author}`], author);
  }
  const failures: Record<string, ProgramTree["failures"][string]> = {};
  for (let at = 0; at < PACKAGES; at++) {
    const tests = reportOf(at);
    write(`packages/p${at}/report.json`, `${JSON.stringify({ tests }, null, 1)}\n`);
    const failed = tests.filter(({ status }) => status === "failed");
    const [slowest] = failed.toSorted((one, other) => other.duration_ms - one.duration_ms);
    failures[`p${at}`] = { tests: tests.length, failed: failed.length, slowest: slowest?.name ?? "" };
  }
  const parts = Array.from({ length: FILES }, (_, at) => at);
  const todosByAuthor: Record<string, number> = {};
  for (const at of parts.filter((each) => each % 5 === 0)) {
    const author = AUTHORS[at % AUTHORS.length] ?? "";
    todosByAuthor[author] = (todosByAuthor[author] ?? 0) + 1;
  }
  return {
    todosByAuthor,
    joined: parts.filter((at) => at % 6 === 0).map((at) => `src/parts/part${at}.ts`),
    failures,
    deadExports: parts.filter((at) => at % 6 === 5).map((at) => `value${at}`),
    renamed: FILES + 1,
    wrongAfterRename: () =>
      [...sources]
        .filter(([path, text]) => readFileSync(join(root, path), "utf8") !== rename(text))
        .map(([path]) => path),
  };
};
