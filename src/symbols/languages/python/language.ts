import type { Family } from "../../project/family.ts";
import type { SymbolLanguage } from "../../rules/symbol-language.ts";
import { createPythonModules } from "./modules.ts";
import { rules } from "./rules.ts";

const family: Family = {
  name: "python",
  reach: "file",
  createModules: createPythonModules,
  submodule: (source, name) => (source.endsWith(".") || source === "" ? source + name : `${source}.${name}`),
  attributeModule: (name) => `.${name}`,
  isOwnSource: (_files, source) => source.startsWith("."),
  folderModules: ["__init__"],
  hasImportFallbacks: true,
  typesNeedImport: true,
  hasDocstrings: true,
  testFiles: /(?:^|\/)conftest\.py$/,
};

export const python: SymbolLanguage = { ids: ["python"], rules, family };

/** Python's grammar and rules, but `load` instead of imports. */
export const starlark: SymbolLanguage = {
  ids: ["starlark"],
  rules,
  family: { name: "starlark", reach: "project" },
};
