import { withoutFlags } from "./option-mentions.ts";
import { codeQuotations, isPhrase } from "./quotations.ts";
import type { Report } from "./read-report.ts";

/** An identifier that a report names, with everything before the last dot: `Store.open`. */
export interface NameMention {
  readonly name: string;
  /** How much the place says that the report is about it: 1 in the title. */
  readonly emphasis: number;
  /** A name that more files define says nothing; a plain word is a name only where hardly anything has it. */
  readonly maxFiles: number;
}

/** Where a name stands says how surely the report is about it. */
const IN_TITLE = 1;
const QUOTED = 0.75;
const IN_PROSE = 0.5;
/** An English word in the title that is also the name of a definition. */
const PLAIN_WORD = 0.5;
const MIN_PLAIN_CHARS = 5;
const MAX_PLAIN_FILES = 2;

const MAX_MENTIONS = 60;
const MAX_NAME_CHARS = 120;

/** Not the parts of `cache-dir`, which is no name. */
const DOTTED =
  /(?<![\p{L}\p{N}_$]|[\p{L}\p{N}]-)[\p{L}_$][\p{L}\p{N}_$]*(?:(?:\.|::|#|->)[\p{L}_$][\p{L}\p{N}_$]*)*(?![\p{L}\p{N}_$]|-\p{L})/gu;
/** Camel case, an underscore or a dot inside: no English word. */
const IS_IDENTIFIER =
  /[\p{Ll}\d]\p{Lu}|[\p{L}\d]_|_[\p{L}]|[\p{L}]\d|\p{Lu}{2}\p{Ll}|[\p{L}\p{N}_](?:\.|::|#|->)[\p{L}_]/u;

const namesIn = (text: string): readonly string[] =>
  (withoutFlags(text).match(DOTTED) ?? []).filter((name) => name.length <= MAX_NAME_CHARS);

/** The identifiers of title and prose. Those of code are resolved by the symbol graph instead. */
export const nameMentions = ({ title, prose, messages }: Report): readonly NameMention[] => {
  const found = new Map<string, NameMention>();
  // Called with the strongest first.
  const add = (name: string, emphasis: number, maxFiles = Number.POSITIVE_INFINITY): void => {
    if (!found.has(name) && found.size < MAX_MENTIONS) found.set(name, { name, emphasis, maxFiles });
  };
  const quoted = (text: string): readonly string[] =>
    codeQuotations(text).flatMap((code) =>
      namesIn(code).filter((name) => !isPhrase(code) || IS_IDENTIFIER.test(name)),
    );
  for (const name of quoted(title)) add(name, IN_TITLE);
  for (const name of namesIn(title)) if (IS_IDENTIFIER.test(name)) add(name, IN_TITLE);
  for (const name of quoted(prose)) add(name, QUOTED);
  // `RST.__init__() got an unexpected keyword argument 'header_rows'`
  for (const name of namesIn([prose, ...messages].join("\n")))
    if (IS_IDENTIFIER.test(name)) add(name, IN_PROSE);
  for (const name of namesIn(title))
    if (name.length >= MIN_PLAIN_CHARS) add(name, PLAIN_WORD, MAX_PLAIN_FILES);
  return [...found.values()];
};

/** The identifiers of the title, without plain words. */
export const namesInTitle = (report: Report): readonly string[] =>
  nameMentions(report)
    .filter(({ emphasis }) => emphasis === IN_TITLE)
    .map(({ name }) => name);
