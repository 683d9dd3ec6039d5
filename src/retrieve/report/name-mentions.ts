import type { Report } from "./read-report.ts";

/** An identifier that a report names, with everything before the last dot: `Store.open`. */
export interface NameMention {
  readonly name: string;
  /** How much the place says that the report is about it: 1 in the title. */
  readonly emphasis: number;
}

/** Where a name stands says how surely the report is about it. */
const IN_TITLE = 1;
const QUOTED = 0.8;
const IN_PROSE = 0.6;

const MAX_MENTIONS = 60;
const MAX_NAME_CHARS = 120;

/** Single and double backticks, as in Markdown and reStructuredText; roles such as :func:`name` as well. */
const QUOTES = /``([^`\n]{1,200})``|`([^`\n]{1,200})`/g;
const DOTTED = /[\p{L}_$][\p{L}\p{N}_$]*(?:(?:\.|::|#|->)[\p{L}_$][\p{L}\p{N}_$]*)*/gu;
/** Camel case, an underscore or a dot inside: no English word. */
const IS_IDENTIFIER = /[\p{Ll}\d]\p{Lu}|[\p{L}\d]_|_[\p{L}]|[\p{L}]\d|\p{Lu}{2}\p{Ll}|[\p{L}\p{N}_](?:\.|::|#|->)[\p{L}_]/u;

const namesIn = (text: string): readonly string[] =>
  (text.match(DOTTED) ?? []).filter((name) => name.length <= MAX_NAME_CHARS);

/** The identifiers of title and prose. Those of code are resolved by the symbol graph instead. */
export const nameMentions = ({ title, prose }: Report): readonly NameMention[] => {
  const found = new Map<string, number>();
  const add = (name: string, emphasis: number): void => {
    if (found.has(name) || found.size < MAX_MENTIONS) found.set(name, Math.max(found.get(name) ?? 0, emphasis));
  };
  const quoted = (text: string): readonly string[] =>
    [...text.matchAll(QUOTES)].flatMap(([, double, single]) => namesIn(double ?? single ?? ""));
  for (const name of quoted(title)) add(name, IN_TITLE);
  for (const name of namesIn(title)) if (IS_IDENTIFIER.test(name)) add(name, IN_TITLE);
  for (const name of quoted(prose)) add(name, QUOTED);
  for (const name of namesIn(prose)) if (IS_IDENTIFIER.test(name)) add(name, IN_PROSE);
  return [...found].map(([name, emphasis]) => ({ name, emphasis }));
};
