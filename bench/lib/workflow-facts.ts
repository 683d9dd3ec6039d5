import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { PAGE } from "./commander-search.ts";
import type { Tree } from "./tree.ts";

/** What each workflow is about, looked up in the tree itself: an answer that lacks it ends the benchmark. */

const expect = (isThere: boolean, what: string): void => {
  if (!isThere) throw new Error(`A workflow did not get ${what}.`);
};

export const TAIL = 100;
export const CLASS_LINES = 60;

const linesOf = async ({ path }: Tree, file: string): Promise<readonly string[]> =>
  (await readFile(join(path, file), "utf8")).split("\n");

/** The server under test keeps its own state there. */
const OWN_FOLDER = ".llmc";

const rootNames = async ({ path }: Tree): Promise<readonly string[]> =>
  (await readdir(path)).filter((name) => name !== OWN_FOLDER);

export const expectRoot = async (text: string, tree: Tree): Promise<void> => {
  const shown = new Set(text.split("\n").map((line) => line.replace(/^\[\w+\] /, "").replace(/\/$/, "")));
  for (const name of await rootNames(tree)) expect(shown.has(name), `${name} in the root`);
};

/** Name and size on one line, and the minute of the last change. */
export const expectDetails = async (text: string, tree: Tree): Promise<void> => {
  const rows = text.split("\n").map((line) => line.split(/\s+/).map((cell) => cell.replace(/\/$/, "")));
  for (const name of await rootNames(tree)) {
    const entry = await stat(join(tree.path, name));
    const size = entry.isDirectory() ? [] : [String(entry.size)];
    const minute = entry.mtime.toTimeString().slice(0, 5);
    const isThere = rows.some((row) => [name, minute, ...size].every((cell) => row.includes(cell)));
    expect(isThere, `${name} with its size and time`);
  }
};

export const expectClass = async (text: string, tree: Tree): Promise<void> => {
  const lines = await linesOf(tree, tree.class.path);
  const at = lines.findIndex((line) => line.startsWith(`class ${tree.class.name}`));
  expect(text.includes(lines.slice(at, at + CLASS_LINES).join("\n")), `${CLASS_LINES} lines of the class`);
};

/** Each use as file and line number. */
export const usesIn = (text: string, form: RegExp): ReadonlySet<string> =>
  new Set([...text.matchAll(form)].map(([, file = "", line = ""]) => `${file}:${line}`));

export const expectUses = async (uses: ReadonlySet<string>, atLeast: number, tree: Tree): Promise<void> => {
  expect(uses.size >= atLeast, `${atLeast} uses, but ${uses.size}`);
  for (const use of uses) {
    const [, file = "", line = ""] = /^(.+):(\d+)$/.exec(use) ?? [];
    const text = (await linesOf(tree, file.replace(`${tree.path}/`, "")))[Number(line) - 1];
    expect(text?.includes(tree.method) === true, `a use of the method at ${use}`);
  }
};

export const expectTotal = (text: string, total: number): void =>
  expect(new RegExp(`(?<!\\d)${total}(?!\\d)`).test(text), `the total of ${total}`);

export const expectEdit = async ({ path, source }: Tree): Promise<void> => {
  const text = await readFile(join(path, source.path), "utf8");
  expect(text.includes(`${source.edited}\n`) && !text.includes(`${source.line}\n`), "the edit");
};

export const expectTail = async (text: string, tree: Tree): Promise<void> => {
  const lines = (await linesOf(tree, tree.log.path)).slice(-TAIL - 1, -1);
  expect(text.includes(lines.join("\n")), `the last ${TAIL} lines`);
};

const crowdedNames = (text: string): number => new Set(text.match(/job_\d{5}\.json/g)).size;

export const expectFirstNames = (text: string, { crowdedEntries }: Tree): void => {
  expect(crowdedNames(text) >= PAGE, `a page of names`);
  expectTotal(text, crowdedEntries);
};

export const expectAllNames = (text: string, { crowdedEntries }: Tree): void =>
  expect(crowdedNames(text) === crowdedEntries, "every name");

export const expectFile = (text: string, { unique }: Tree): void =>
  expect(text.includes(unique.path), "the file");

/** Whether an empty last line is shown does not matter. */
export const expectWhole = async (text: string, tree: Tree, file: string): Promise<void> =>
  expect(text.includes((await readFile(join(tree.path, file), "utf8")).trimEnd()), `the whole of ${file}`);

export const expectUnchanged = (text: string): void =>
  expect(text.includes("unchanged"), "that the file is unchanged");
