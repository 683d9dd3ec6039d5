import type { Rules } from "../extract/walker.ts";
import type { Family } from "../project/family.ts";

/** All that the graph knows about a language. Its grammar and file names are a row of `syntax/language-table.ts`. */
export interface SymbolLanguage {
  /** Ids of that table that this description is for. */
  readonly ids: readonly string[];
  /** How symbols are extracted; undefined for files whose scripts are read as another language. */
  readonly rules?: Rules;
  readonly family: Family;
}
