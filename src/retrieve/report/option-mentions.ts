import { codeQuotations } from "./quotations.ts";

/** `--no-cache-dir`, wherever it stands. */
const FLAG = /(?<![\w-])--[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*(?![\w-])/g;
/** Several words, so that no name of a variable or English word is one. */
const KEY = "[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)+";
/** A setting with a plain value: `max_line_length = 100`, `"no-emit": true`, `cache-dir: /tmp`. Calls are code. */
const SETTING = new RegExp(
  String.raw`^\s*["']?(${KEY})["']? ?[=:] ?(?:"[^"]*"|'[^']*'|[\w./~%+-]+)[,;]?\s*(?:#.*)?$`,
);
/** `no-cache-dir`, which is no name in any language that has a minus sign. */
const KEBAB = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)+$/;

const MAX_OPTIONS = 8;

interface OptionSources {
  readonly title: string;
  readonly prose: string;
  readonly examples: readonly { readonly text: string }[];
  readonly output: string;
}

/** Options of commands and keys of settings that a report names, as written. */
export const optionMentions = ({ title, prose, examples, output }: OptionSources): readonly string[] => {
  const found = new Set<string>();
  const code = examples.map(({ text }) => text);
  const add = (names: Iterable<string>): void => {
    for (const name of names) if (found.size < MAX_OPTIONS) found.add(name);
  };
  add([title, prose, ...code, output].flatMap((text) => text.match(FLAG) ?? []));
  for (const quoted of codeQuotations(`${title}\n${prose}`))
    add(KEBAB.test(quoted) ? [quoted] : (SETTING.exec(quoted)?.slice(1, 2) ?? []));
  for (const line of code.flatMap((text) => text.split("\n"))) add(SETTING.exec(line)?.slice(1, 2) ?? []);
  return [...found];
};

/** The text without its flags, of which no part is a name. */
export const withoutFlags = (text: string): string => text.replace(FLAG, " ");
