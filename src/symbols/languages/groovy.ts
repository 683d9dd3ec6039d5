import { generic } from "../rules/generic.ts";
import type { SymbolLanguage } from "../rules/symbol-language.ts";
import { jvm } from "./jvm.ts";

export const groovy: SymbolLanguage = { ids: ["groovy"], rules: generic, family: jvm };
