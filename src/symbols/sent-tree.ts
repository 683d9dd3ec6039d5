import type { Tree } from "web-tree-sitter";
import { toFlatTree } from "../syntax/flat-tree.ts";
import type { Language } from "../syntax/languages.ts";
import type { TreeColumns } from "../syntax/tree-columns.ts";
import type { FileSymbols } from "./extract/file-symbols.ts";
import { NO_SYMBOLS } from "./extract/file-symbols.ts";
import { walk } from "./extract/walker.ts";
import { rulesOf } from "./languages/all.ts";

/** All that symbols are made of, for another thread to make them. Plain data. */
export interface SentTree {
  readonly language: string;
  readonly text: string;
  /** The words of its grammar, each in one string: hundreds of small ones take longer to send than all the rest. */
  readonly types: string;
  readonly fields: string;
  readonly columns: Omit<TreeColumns, "vocabulary">;
}

/** In no word of a grammar; line ends are, since some grammars have them as tokens. */
const SEPARATOR = "\0";

/** Undefined where the language has no symbols. `read` is told apart so that whoever only receives needs no parser. */
export const sendTree = (
  tree: Tree,
  language: Language,
  text: string,
  read: (tree: Tree, chars: number) => TreeColumns,
): SentTree | undefined => {
  if (rulesOf(language.id) === undefined) return undefined;
  const { vocabulary, count, ...columns } = read(tree, text.length);
  return {
    language: language.id,
    text,
    types: vocabulary.types.join(SEPARATOR),
    fields: vocabulary.fields.map((field) => field ?? "").join(SEPARATOR),
    // Copies: the columns themselves are used again by the next tree.
    columns: {
      count,
      type: columns.type.slice(0, count),
      field: columns.field.slice(0, count),
      start: columns.start.slice(0, count),
      end: columns.end.slice(0, count),
      parent: columns.parent.slice(0, count),
      firstChild: columns.firstChild.slice(0, count),
      nextSibling: columns.nextSibling.slice(0, count),
    },
  };
};

/** By what was sent: rules are worked out once for each list of types. */
const vocabularies = new Map<string, TreeColumns["vocabulary"]>();

const vocabularyOf = (types: string, fields: string): TreeColumns["vocabulary"] => {
  const known = vocabularies.get(types);
  if (known !== undefined) return known;
  const made = { types: types.split(SEPARATOR), fields: fields.split(SEPARATOR) };
  vocabularies.set(types, made);
  return made;
};

export const symbolsOfSent = ({ language, text, types, fields, columns }: SentTree): FileSymbols => {
  const rules = rulesOf(language);
  if (rules === undefined) return NO_SYMBOLS;
  return walk(toFlatTree({ vocabulary: vocabularyOf(types, fields), ...columns }, text), rules);
};
