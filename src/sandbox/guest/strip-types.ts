import { stripTypeScriptTypes } from "node:module";
import type { ProgramError } from "./messages.ts";

/** The beginning of the error's stack: the line, some source lines and a mark below the position. */
const POSITION = /^[^\n]*:(\d+)\n(?:[^\n]*\n){1,5}?( *)\^/;

const describe = (thrown: unknown): ProgramError => {
  const { message, stack = "" } = thrown instanceof Error ? thrown : new Error(String(thrown));
  const [, line, before] = POSITION.exec(stack) ?? [];
  const isUnsupported =
    thrown instanceof Error && "code" in thrown && String(thrown.code).includes("UNSUPPORTED");
  return {
    name: "SyntaxError",
    message: isUnsupported ? `${message}: only types that can be erased work` : message,
    ...(line === undefined || before === undefined ? {} : { line: Number(line), column: before.length + 1 }),
  };
};

/**
 * JavaScript with blanks where the types were, so that positions stay. Done here and not in the server, because some short
 * texts take the parser minutes: this process is ended at the deadline.
 */
export const stripTypes = (code: string): { readonly code: string } | { readonly error: ProgramError } => {
  try {
    return { code: stripTypeScriptTypes(code) };
  } catch (thrown) {
    return { error: describe(thrown) };
  }
};
