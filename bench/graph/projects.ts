import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { FileSymbols } from "../../src/symbols/extract/file-symbols.ts";
import { extractSymbols } from "../../src/symbols/extract-symbols.ts";
import { createGraph } from "../../src/symbols/graph.ts";
import { languageOf } from "../../src/syntax/languages.ts";
import { createParsers } from "../../src/syntax/parsers.ts";
import type { Project } from "./oracle.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** Folder of the data sets; they are no part of this repository. */
const dataFolder = (): string => resolve(repository, process.env["LLMC_BENCH_DATA"] ?? "../shared/data");

export const ownSources = (): Project => ({
  name: "llmc (src)",
  folder: repository.replace(/\/$/, ""),
  paths: globSync("src/**/*.ts", { cwd: repository }).sort(),
});

/** A project of the code search set, written out to a folder of its own; undefined where the set is not there. */
export const corpusProject = (name: string, pattern: RegExp): (Project & { remove(): void }) | undefined => {
  const packed = join(dataFolder(), `code-search-dev/corpus/${name}.jsonl.gz`);
  if (!existsSync(packed)) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "llmc-graph-"));
  const paths: string[] = [];
  for (const line of gunzipSync(readFileSync(packed)).toString("utf8").split("\n")) {
    if (line === "") continue;
    const { title, text } = JSON.parse(line) as { title: string; text: string };
    if (!pattern.test(title)) continue;
    mkdirSync(dirname(join(folder, title)), { recursive: true });
    writeFileSync(join(folder, title), text);
    paths.push(title);
  }
  return {
    name,
    folder,
    paths: paths.sort(),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
};

const SOURCES = "**/*.{js,cjs,mjs}";

/** An installed package of plain JavaScript, copied to a folder of its own: without declarations, which would tell types. */
export const packageProject = (name: string): (Project & { remove(): void }) | undefined => {
  const source = join(repository, "node_modules", name);
  if (!existsSync(source)) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "llmc-graph-"));
  const isOwn = (path: string): boolean => !path.split("/").includes("node_modules");
  const paths = globSync(SOURCES, { cwd: source }).filter(isOwn).sort();
  for (const path of [...paths, "package.json"]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(join(source, path), join(folder, path));
  }
  return { name, folder, paths, remove: () => rmSync(folder, { recursive: true, force: true }) };
};

/** The graph of a project, with what each file said and how long that took. */
export const graphOf = async ({ folder, paths }: Project) => {
  const parsers = await createParsers();
  const graph = createGraph({
    readConfig: (path) =>
      existsSync(join(folder, path)) ? readFileSync(join(folder, path), "utf8") : undefined,
  });
  const symbols = new Map<string, FileSymbols>();
  let bytes = 0;
  let extractMs = 0;
  for (const path of paths) {
    const text = readFileSync(join(folder, path), "utf8");
    const language = languageOf(path, text);
    if (language.grammar === undefined) continue;
    const { tree } = await parsers.parse(language.grammar, text);
    if (tree === undefined) continue;
    const started = performance.now();
    const found = extractSymbols(tree, language, text);
    extractMs += performance.now() - started;
    bytes += text.length;
    tree.delete();
    symbols.set(path, found);
    graph.put(path, language.id, found);
  }
  parsers.close();
  return { graph, symbols, bytes, extractMs };
};
