/** One setting of a git configuration file, its key in git's canonical form: `section.sub.name`, section and name in lower case. */
export interface GitSetting {
  readonly key: string;
  readonly value: string;
}

const SECTION = /^\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]/;
const NAME = /^([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)/;

/** A value up to its comment or line end, with quotes and escapes resolved; undefined where it is malformed. */
const readValue = (text: string): readonly [value: string, length: number] | undefined => {
  let value = "";
  let kept = 0;
  let isQuoted = false;
  for (let at = 0; at <= text.length; at++) {
    const letter = text[at] ?? "\n";
    if (letter === "\n") return isQuoted ? undefined : [value.slice(0, kept), at];
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
      return [value.slice(0, kept), end < 0 ? text.length : end];
    } else {
      value += letter;
      if (isQuoted || !/\s/.test(letter)) kept = value.length;
    }
  }
  return undefined;
};

/**
 * White space and control characters that readers of configuration files take for different things: git's own white space is
 * the space, the tab and the line end; a zero byte ends its texts; others follow the rules of Unicode. In comments they do
 * no harm.
 */
const UNCLEAR = /^(?![ \t]*[#;]).*(?:[^\S \t\r\n]|[\p{Cc}--[\t\r\n]])/mv;

/** The settings of a configuration file; undefined where git would not read it either, or we are not sure how. */
export const parseGitConfig = (source: string): readonly GitSetting[] | undefined => {
  if (UNCLEAR.test(source)) return undefined;
  const settings: GitSetting[] = [];
  let section: string | undefined;
  let rest = source.replace(/^\uFEFF/, "");
  while (rest !== "") {
    const blank = /^(?:\s+|[#;][^\n]*)/.exec(rest);
    if (blank !== null) {
      rest = rest.slice(blank[0].length);
      continue;
    }
    const head = SECTION.exec(rest);
    if (head !== null) {
      const [whole, name = "", sub] = head;
      section =
        sub === undefined ? name.toLowerCase() : `${name.toLowerCase()}.${sub.replace(/\\(.)/g, "$1")}`;
      rest = rest.slice(whole.length);
      continue;
    }
    const named = NAME.exec(rest);
    if (named === null || section === undefined) return undefined;
    const [whole, name = "", equals] = named;
    const afterName = rest.slice(whole.length);
    if (equals === "" && !/^(?:[#;\r\n]|$)/.test(afterName)) return undefined;
    const read = readValue(equals === "" ? afterName : afterName.replace(/^[ \t]+/, ""));
    if (read === undefined) return undefined;
    const skipped = equals === "" ? 0 : afterName.length - afterName.replace(/^[ \t]+/, "").length;
    settings.push({ key: `${section}.${name.toLowerCase()}`, value: equals === "" ? "true" : read[0] });
    rest = afterName.slice(skipped + read[1]);
  }
  return settings;
};

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
