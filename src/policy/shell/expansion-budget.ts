import { LlmcError } from "../../base/error.ts";

/**
 * Of everything that one command line expands to, together. Linux gives a program 2 MiB for all its arguments, so a line
 * that runs reaches this only by what is made on the way.
 */
const MAX_CHARS = 2 * 1024 * 1024;
/** What holds a piece of text in memory, beside its characters: otherwise empty ones would cost nothing. */
const CHARS_PER_PIECE = 16;

/**
 * What a line may still expand to. Braces, variables and globs multiply: a line of a hundred bytes can stand for
 * gigabytes. Every piece of text is paid for before it is made, so nothing larger than the budget ever exists.
 */
export interface ExpansionBudget {
  /** Throws where less is left. */
  spend(chars: number): void;
}

export const createExpansionBudget = (): ExpansionBudget => {
  let left = MAX_CHARS;
  return {
    spend: (chars) => {
      left -= chars + CHARS_PER_PIECE;
      if (left < 0)
        throw new LlmcError(
          "invalid_args",
          `The command line expands to more than ${MAX_CHARS} characters, counting ${CHARS_PER_PIECE} for each argument.`,
          {
            hint: "Put long input into a file and name the file; name a directory instead of many files.",
            details: { field: "command" },
          },
        );
    },
  };
};
