// Takes out of node_modules what the compiled program never opens, some 30 MB. Run in the build stage, after
// `npm prune --omit=dev`.
import { readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";

const modules = resolve(import.meta.dirname, "../node_modules");

/** Sources, types and maps of packages that are compiled already. Licences stay: they are not among these endings. */
const UNUSED = /\.(?:map|[cm]?tsx?|h|hpp|c|cc|cpp|rs|py|gyp|gypi|cmake|tiktoken|md|markdown)$/i;
const LICENCE = /^(?:licen[cs]e|copying|notice)/i;

for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true }))
  if (entry.isFile() && UNUSED.test(entry.name) && !LICENCE.test(entry.name))
    rmSync(join(entry.parentPath, entry.name));
