/** What a program text of awk or sed, given as an argument, can do beyond reading its input. */
export type ScriptPower = "run" | "write" | "read";

/**
 * Judged on the letters, without a grammar: strings and comments count as code. Wrong in one direction only, since
 * awk has no way to spell a keyword or an operator differently.
 */
export const judgeAwkText = (text: string): readonly ScriptPower[] => {
  const joined = text.replace(/\\\r?\n/g, "");
  return [text, joined].flatMap((code): readonly ScriptPower[] => {
    // `@` loads extensions and calls functions by computed name; getline reads from commands and addresses.
    if (/system|getline|@|\|(?!\|)/.test(code.replaceAll("||", " "))) return ["run"];
    const printAt = code.indexOf("print");
    const writes = printAt >= 0 && />(?!=)/.test(code.slice(printAt));
    // A program may give itself other files to read than those of its arguments.
    return [...(writes ? ["write" as const] : []), ...(/ARG[CV]/.test(code) ? ["read" as const] : [])];
  });
};

/**
 * A regular expression up to its delimiter. Within brackets some programs take the delimiter for a letter and others for
 * the end, and a backslash for itself or not: brackets pass only where all of them read the same.
 */
const regexUpTo = (delimiter: string): string => {
  const inBrackets = String.raw`(?:\\[^[\]\n]|(?!${delimiter})[^[\\\]\n]|\[(?!${delimiter}):[a-z]+:\])*`;
  const brackets = String.raw`\[(?:\^\]|\]|\^(?!\])|(?![\^\]]))${inBrackets}\]`;
  return String.raw`(?:\\.|(?!${delimiter})[^[\\\n]|${brackets})`;
};

const ADDRESS = String.raw`(?:\d+(?:~\d+)?|\$|/${regexUpTo("/")}+/[IM]*)`;
const PATTERN = String.raw`${regexUpTo(String.raw`\k<d>`)}*\k<d>`;
const REPLACEMENT = String.raw`(?:\\.|(?!\k<d>)[^\\\n])*\k<d>`;
// No two parts in a row can take the same blanks, so that time is bounded by the length.
const SED_COMMAND = new RegExp(
  String.raw`(?:${ADDRESS}(?:,[ \t]*(?:${ADDRESS}|[+~]\d+))?)?[ \t]*(?:!+[ \t]*)?(?:\{|` +
    String.raw`[aic](?:[ \t]*\\)?[^\\\n]*(?=$|\n)|#[^\n]*|` +
    String.raw`(?:[}pdDPnNhHgGxz=]|[qQlL](?:[ \t]*\d+)?|[bt:T](?:[ \t]*[\w.-]+)?` +
    String.raw`|[sy](?<d>[/|,#:@!~%_+])${PATTERN}${REPLACEMENT}[gpiImM\d]*)[ \t]*(?=$|[\n;}]))`,
  "y",
);
const BETWEEN = /[\s;]*/y;

/** Passes only what a small, harmless part of the language spells; everything else may run or write. */
export const judgeSedText = (text: string): readonly ScriptPower[] => {
  let at = 0;
  for (;;) {
    BETWEEN.lastIndex = at;
    at += BETWEEN.exec(text)?.[0].length ?? 0;
    if (at >= text.length) return [];
    SED_COMMAND.lastIndex = at;
    const found = SED_COMMAND.exec(text)?.[0] ?? "";
    if (found === "") return ["run"];
    at += found.length;
  }
};
