import type { ProgramResult } from "../sandbox/programs.ts";

type ProgramError = NonNullable<ProgramResult["error"]>;

const MODULES =
  "Modules need mcp.code_execution.native_languages and native_packages, which the operator sets. Otherwise a program has the language itself, in Python with its standard library, and `tools` for files, commands and searches.";

/** What interpreters say of a module that they do not load. */
const NO_MODULE =
  /^(?:could not load module|'?require'? is not defined|Cannot find (?:module|package)|No such built-in module)/;

/** Programs are written as the body of a function, which they are not. */
const RETURNS =
  /^(?:return not in a function|Illegal return statement|Return statement is not allowed here|'return' outside function)/;
const LAST_EXPRESSION = "Leave return out: the last expression is the result.";

const NOT_AWAITED = "A tool call has to be awaited: `await tools.NAME(...)`.";

/** What a call returns before it is awaited, as messages of Python name it. */
const FUTURE = /\b(?:PyodideFuture|Future|Task|coroutine)\b/;

/** How Python shows a call that is not awaited. */
const SHOWN_FUTURE = /<(?:PyodideFuture|PyodideTask|Future|Task) (?:pending|finished)\b|<coroutine object /;

/** Only the beginning is looked at: a program may have written megabytes. */
const LOOKED_AT_CHARS = 64 * 1024;

/** What to tell whoever shows calls instead of their results: one line or none. */
export const futureHint = ({
  stdout,
  result = "",
}: {
  readonly stdout: string;
  readonly result?: unknown;
}): readonly string[] => {
  const shown = [stdout, JSON.stringify(result)].map((text) => text.slice(0, LOOKED_AT_CHARS));
  return shown.some((text) => SHOWN_FUTURE.test(text)) ? [`[${NOT_AWAITED}]`] : [];
};

const UNDEFINED =
  "Is the tool call awaited, and has its result this field? Results of linux_*, kb_* and admin_* have no `data`; the stubs in .llmc/stubs declare all.";

/** QuickJS, and Node where the operator wants it. */
const READS_UNDEFINED =
  /^(?:cannot read property .* of undefined|Cannot read properties of undefined|undefined is not )/;

const lineOf = (code: string, line: number): string => {
  let start = 0;
  for (let at = 1; at < line; at++) {
    const end = code.indexOf("\n", start);
    if (end < 0) return "";
    start = end + 1;
  }
  const end = code.indexOf("\n", start);
  return code.slice(start, end < 0 ? undefined : end);
};

/** The program may be hostile, and this is the server's thread: only the line that failed is looked at, in linear time. */
const isModuleMissing = ({ name, message, line }: ProgramError, code: string): boolean =>
  NO_MODULE.test(message) ||
  (name === "SyntaxError" && line !== undefined && /^import\b/.test(lineOf(code, line).trimStart()));

/** What a program takes for a result that is none. */
const resultHint = ({ name, message }: ProgramError, language: string): string | undefined => {
  if (language !== "python")
    return name === "TypeError" && READS_UNDEFINED.test(message) ? UNDEFINED : undefined;
  if (name === "KeyError" && message === "'data'") return UNDEFINED;
  return ["TypeError", "AttributeError"].includes(name) && FUTURE.test(message) ? NOT_AWAITED : undefined;
};

const hintFor = (
  error: ProgramError,
  language: string,
  code: string,
  hasCalls: boolean,
): string | undefined => {
  if (error.ended === "timeout")
    return "timeout_s asks for more time, up to mcp.code_execution.max_timeout_seconds; less work per program helps as well.";
  const isModule =
    language === "python" ? error.name === "ModuleNotFoundError" : isModuleMissing(error, code);
  if (isModule) return MODULES;
  if (error.name === "SyntaxError" && RETURNS.test(error.message)) return LAST_EXPRESSION;
  return hasCalls ? resultHint(error, language) : undefined;
};

/** The error of a program with the way out, where its message alone does not show one. */
export const withHint = (
  error: ProgramError,
  language: string,
  code: string,
  hasCalls: boolean,
): ProgramError => {
  const hint = hintFor(error, language, code, hasCalls);
  return hint === undefined
    ? error
    : { ...error, message: `${error.message.replace(/(?<![.!?])$/, ".")} ${hint}` };
};
