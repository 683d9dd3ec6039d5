import type { ProgramResult } from "../sandbox/programs.ts";

type ProgramError = NonNullable<ProgramResult["error"]>;

const MODULES =
  "Modules need mcp.code_execution.native_languages and native_packages, which the operator sets. Otherwise a program has the language itself, in Python with its standard library, and `tools` for files, commands and searches.";

/** A static import at the beginning of a line, or a call that loads a module. */
const LOADS_MODULE = /^\s*import(?:\s+\w|\s*[{*"'])|\b(?:import|require)\s*\(/m;

const LOADING_FAILED = /^(?:SyntaxError|ReferenceError|TypeError|Error)$/;

const hintFor = ({ name, ended }: ProgramError, language: string, code: string): string | undefined => {
  if (ended === "timeout")
    return "timeout_s asks for more time, up to mcp.code_execution.max_timeout_seconds; less work per program helps as well.";
  const isModule =
    language === "python"
      ? name === "ModuleNotFoundError"
      : LOADING_FAILED.test(name) && LOADS_MODULE.test(code);
  return isModule ? MODULES : undefined;
};

/** The error of a program with the way out, where its message alone does not show one. */
export const withHint = (error: ProgramError, language: string, code: string): ProgramError => {
  const hint = hintFor(error, language, code);
  return hint === undefined
    ? error
    : { ...error, message: `${error.message.replace(/(?<![.!?])$/, ".")} ${hint}` };
};
