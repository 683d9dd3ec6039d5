// Takes out of node_modules what the compiled program never opens, some 90 MB. Run in the build stage, after
// `npm prune --omit=dev`.
import { readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { LANGUAGE_TABLE } from "../dist/retrieve/parse/language-table.js";

const modules = resolve(import.meta.dirname, "../node_modules");
const drop = (path) => rmSync(join(modules, path), { recursive: true, force: true });

/** Sources, types and maps of packages that are compiled already. Licences stay: they are not among these endings. */
const UNUSED = /\.(?:map|[cm]?tsx?|h|hpp|c|cc|cpp|rs|py|gyp|gypi|cmake|tiktoken|md|markdown)$/i;
const LICENCE = /^(?:licen[cs]e|copying|notice)/i;

const grammars = new Set(LANGUAGE_TABLE.flatMap(({ grammar }) => grammar ?? []));
for (const name of readdirSync(join(modules, "tree-sitter-wasm/out")))
  if (!grammars.has(name)) drop(join("tree-sitter-wasm/out", name));

for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true }))
  if (entry.isFile() && UNUSED.test(entry.name) && !LICENCE.test(entry.name))
    rmSync(join(entry.parentPath, entry.name));

const target = `${process.platform}-${process.arch}`;
for (const name of readdirSync(join(modules, "usearch/prebuilds")))
  if (name !== target) drop(join("usearch/prebuilds", name));
