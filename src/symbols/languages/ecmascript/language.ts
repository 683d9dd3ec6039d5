import type { Family } from "../../project/family.ts";
import type { SymbolLanguage } from "../../rules/symbol-language.ts";
import { WHOLE_MODULE } from "./commonjs.ts";
import { createEcmascriptModules } from "./modules.ts";
import { rules } from "./rules.ts";

const family: Family = {
  name: "ecmascript",
  reach: "file",
  createModules: createEcmascriptModules,
  configFiles: /^(?:package|tsconfig[^/]*)\.json$/,
  folderModules: ["index"],
  hidesUnexported: true,
  hidesImports: true,
  reexportsBindNothing: true,
  wholeModule: WHOLE_MODULE,
  typesNeedImport: true,
  hasObjectMethods: true,
  readsAreNoMethods: true,
};

export const ecmascript: SymbolLanguage = { ids: ["typescript", "tsx", "javascript", "jsx"], rules, family };

/** Their scripts are read as TypeScript. */
export const components: SymbolLanguage = { ids: ["vue", "svelte", "astro"], family };
