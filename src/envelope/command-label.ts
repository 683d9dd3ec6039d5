import { createHash } from "node:crypto";

/** Programs whose first argument is a subcommand, which reveals nothing about what it is applied to. */
const WITH_SUBCOMMAND = new Set(
  "git npm npx pnpm yarn cargo go docker podman kubectl gh pip uv poetry make systemctl apt brew terraform dotnet".split(
    " ",
  ),
);
const SUBCOMMAND = /^[a-z][a-z-]{0,24}$/;
const MAX_NAME_CHARS = 48;

const nameOf = (program: string): string =>
  program
    .slice(program.lastIndexOf("/") + 1)
    .replace(/[^\x21-\x7e]/g, "?")
    .slice(0, MAX_NAME_CHARS);

/** What may be recorded of any command: the program, and its subcommand where it certainly is one. */
export const commandLabel = ([program, first]: readonly [string, ...string[]]): string => {
  const name = nameOf(program);
  return first !== undefined && WITH_SUBCOMMAND.has(name) && SUBCOMMAND.test(first)
    ? `${name} ${first}`
    : name;
};

/** Identifies equal command lines without revealing them. */
export const commandHash = (argv: readonly string[]): string =>
  createHash("sha256").update(argv.join("\0")).digest("hex").slice(0, 16);

const PLAIN_ARGUMENT = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** One line that parses back to the same argv. */
export const quoteArgv = (argv: readonly string[]): string =>
  argv.map((arg) => (PLAIN_ARGUMENT.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`)).join(" ");
