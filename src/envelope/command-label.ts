import { createHash } from "node:crypto";

/** Programs whose first word is what they are to do, and says nothing about whom or what it is done to. */
const WITH_SUBCOMMAND = new Set(
  "git npm npx pnpm yarn cargo go docker podman kubectl gh pip uv poetry make systemctl apt brew terraform dotnet".split(
    " ",
  ),
);
const WORD = /^[a-z][a-z-]{0,24}$/;
const MAX_NAME_CHARS = 48;

const nameOf = (program: string): string =>
  program
    .slice(program.lastIndexOf("/") + 1)
    .replace(/[^\x21-\x7e]/g, "?")
    .slice(0, MAX_NAME_CHARS);

/** What may be remembered of any command: the program, and its subcommand where that is surely one. */
export const commandLabel = ([program, first]: readonly [string, ...string[]]): string => {
  const name = nameOf(program);
  return first !== undefined && WITH_SUBCOMMAND.has(name) && WORD.test(first) ? `${name} ${first}` : name;
};

/** Tells equal lines apart from others without telling what they say. */
export const commandHash = (words: readonly string[]): string =>
  createHash("sha256").update(words.join("\0")).digest("hex").slice(0, 16);

const PLAIN_WORD = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** Words as one line that reads back as the same words. */
export const quoteWords = (words: readonly string[]): string =>
  words.map((word) => (PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
