import type { SymbolLanguage } from "../../rules/symbol-language.ts";
import { createRustModules } from "./modules.ts";
import { rules } from "./rules.ts";

export const rust: SymbolLanguage = {
  ids: ["rust"],
  rules,
  family: {
    name: "rust",
    reach: "file",
    createModules: createRustModules,
    configFiles: /^Cargo\.toml$/,
    sourcesDependOnFile: true,
    submodule: (source, name) => `${source}::${name}`,
    folderModules: ["mod", "lib"],
    hidesImports: true,
  },
};
