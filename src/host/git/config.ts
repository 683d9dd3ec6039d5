import { LlmcError } from "../../base/error.ts";

/** One setting of a git configuration file, its key in git's canonical form: `section.sub.name`, section and name in lower case. */
export interface GitSetting {
  readonly key: string;
  readonly value: string;
}

const BLANK = /(?:\s+|[#;][^\n]*)/y;
const SECTION = /\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)")?\]/y;
const NAME = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:(=)[ \t]*|(?=\r?\n|$))/y;

const matchAt = (pattern: RegExp, text: string, at: number): RegExpExecArray | undefined => {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
};

/**
 * More than people have, with three settings for each of thousands of branches. Every one of them is judged before each
 * command.
 */
export const MAX_SETTINGS = 20_000;

const refuseTooMany = (): LlmcError =>
  new LlmcError(
    "forbidden",
    `Nothing is run or changed here: a configuration of git holds more than ${MAX_SETTINGS} settings, and as many cannot be checked.`,
    { hint: "The user can look at that configuration and shorten it, or run git by hand." },
  );

/**
 * A value up to its comment or line end, with quotes and escapes resolved; undefined where it is malformed. White space
 * outside quotes does not begin a value, not even on a continued line, and does not end it.
 */
const readValue = (
  text: string,
  from: number,
): { readonly value: string; readonly end: number } | undefined => {
  let value = "";
  let kept = 0;
  let isQuoted = false;
  for (let at = from; at <= text.length; at++) {
    const letter = text[at] ?? "\n";
    if (letter === "\n") return isQuoted ? undefined : { value: value.slice(0, kept), end: at };
    if (letter === "\\") {
      const next = text[++at];
      if (next === "\r" && text[at + 1] === "\n") at++;
      else if (next === "n" || next === "t" || next === "b")
        value += next === "n" ? "\n" : next === "t" ? "\t" : "\b";
      else if (next === "\\" || next === '"') value += next;
      else if (next !== "\n") return undefined;
      kept = value.length;
    } else if (letter === '"') {
      isQuoted = !isQuoted;
      kept = value.length;
    } else if ((letter === "#" || letter === ";") && !isQuoted) {
      const end = text.indexOf("\n", at);
      return { value: value.slice(0, kept), end: end < 0 ? text.length : end };
    } else if (isQuoted || !/\s/.test(letter)) {
      value += letter;
      kept = value.length;
    } else if (value !== "") value += letter;
  }
  return undefined;
};

/**
 * White space and control characters that readers of configuration files take for different things: git's own white space is
 * the space, the tab and the line end; a zero byte ends its texts; a carriage return within a line is a space to some
 * versions; others follow the rules of Unicode. In comments they do no harm.
 */
const UNCLEAR = /^(?![ \t]*[#;]).*(?:[^\S \t\r\n]|[\p{Cc}--[\t\r\n]]|\r(?!\n))/mv;

/**
 * The settings of a configuration file; undefined where git would not read it either, or we are not sure how. Throws where
 * there are too many.
 */
export const parseGitConfig = (source: string): readonly GitSetting[] | undefined => {
  if (UNCLEAR.test(source)) return undefined;
  const settings: GitSetting[] = [];
  let section: string | undefined;
  const text = source.replace(/^\uFEFF/, "");
  let at = 0;
  while (at < text.length) {
    const blank = matchAt(BLANK, text, at);
    const head = blank === undefined ? matchAt(SECTION, text, at) : undefined;
    if (head !== undefined) {
      const [, name = "", sub] = head;
      section =
        sub === undefined ? name.toLowerCase() : `${name.toLowerCase()}.${sub.replace(/\\(.)/g, "$1")}`;
    }
    const skipped = blank ?? head;
    if (skipped !== undefined) {
      at += skipped[0].length;
      continue;
    }
    const named = matchAt(NAME, text, at);
    if (named === undefined || section === undefined) return undefined;
    const [whole, name = "", equals] = named;
    const read = readValue(text, at + whole.length);
    if (read === undefined) return undefined;
    if (settings.length === MAX_SETTINGS) throw refuseTooMany();
    settings.push({
      key: `${section}.${name.toLowerCase()}`,
      value: equals === undefined ? "true" : read.value,
    });
    at = read.end;
  }
  return settings;
};

/** What a value may be to git: some versions read a tab between words as a space. */
export const readingsOf = (value: string): readonly string[] => [
  ...new Set([value, value.replaceAll("\t", " ")]),
];

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\t", "\\t"],
  ["\b", "\\b"],
]);

const escaped = (text: string): string =>
  text.replaceAll(/[\\"\n\t\b]/g, (letter) => ESCAPES.get(letter) ?? `\\${letter}`);

/** The text of a configuration file with these settings. */
export const renderGitConfig = (settings: readonly GitSetting[]): string =>
  settings
    .map(({ key, value }) => {
      const [first, last] = [key.indexOf("."), key.lastIndexOf(".")];
      const section = key.slice(0, first);
      const head = first === last ? section : `${section} "${escaped(key.slice(first + 1, last))}"`;
      return `[${head}]\n\t${key.slice(last + 1)} = "${escaped(value)}"\n`;
    })
    .join("");

/** What a fresh `git init` or `git clone` writes, and what people set that starts and redirects nothing. */
const PLAIN = [
  /^core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|quotepath|longpaths|untrackedcache|preloadindex|abbrev|sparsecheckout|sparsecheckoutcone|multipackindex|commitgraph)$/,
  /^extensions\.(objectformat|refstorage|compatobjectformat|relativeworktrees|preciousobjects)$/,
  /^remote\.[^\n]+\.(url|pushurl|fetch|push|tagopt|prune|mirror)$/s,
  /^branch\.[^\n]+\.(remote|merge|rebase|pushremote|description)$/s,
  /^(user\.(name|email)|init\.defaultbranch|pull\.(rebase|ff)|push\.(default|followtags|autosetupremote)|fetch\.prune|merge\.(ff|conflictstyle)|rebase\.(autosquash|autostash)|rerere\.enabled|color\.[a-z.]+|submodule\.active)$/,
];

/** Whether a setting of this name neither starts nor includes anything, nor names a file that git reads. */
export const isPlainKey = (key: string): boolean => PLAIN.some((pattern) => pattern.test(key));

/** Whether these settings are those of a plain repository: nothing is started, included or found elsewhere. */
export const isPlainConfig = (settings: readonly GitSetting[]): boolean =>
  settings.every(({ key, value }) => isPlainKey(key) && !(key.endsWith("url") && /^\s*ext::|^-/.test(value)));
