import { dialectNames, longFiles, longFunctions, machineAccess } from "./check-code.ts";
import { fileCycles, folderCycles, importsOutsideTable, modulesOutsideTable } from "./check-imports.ts";
import { readSources } from "./source.ts";
import type { WallTable } from "./table.ts";

const MAX_FILE_LINES = 300;
const MAX_FUNCTION_LINES = 100;

export type Wall =
  | "imports"
  | "modules"
  | "file cycles"
  | "folder cycles"
  | "machine access"
  | "long files"
  | "long functions"
  | "dialect";

/** What breaks each wall in the source tree at `root`. */
export const violationsIn = (root: string, table: WallTable): Readonly<Record<Wall, readonly string[]>> => {
  const sources = readSources(root);
  return {
    imports: importsOutsideTable(sources, table),
    modules: modulesOutsideTable(sources, table),
    "file cycles": fileCycles(sources),
    "folder cycles": folderCycles(sources),
    "machine access": machineAccess(sources, table),
    "long files": longFiles(sources, MAX_FILE_LINES),
    "long functions": longFunctions(sources, MAX_FUNCTION_LINES),
    dialect: dialectNames(readSources(root, { tests: true })),
  };
};
