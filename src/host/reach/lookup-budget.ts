import { LlmcError } from "../../base/error.ts";

/**
 * Steps from one part of a path to the next, of everything that is looked up for one command line: about a second of the
 * server's thread, in which nobody else is answered.
 */
const MAX_STEPS = 300_000;

/** Counts what is looked up; throws where it is too much, and again whenever it is asked after that. */
export type LookupBudget = (steps: number) => void;

export const createLookupBudget = (): LookupBudget => {
  let left = MAX_STEPS;
  return (steps) => {
    left -= steps;
    if (left >= 0) return;
    throw new LlmcError(
      "invalid_args",
      "The arguments could stand for more paths than can be looked up before a command runs.",
      {
        hint: "Give fewer or shorter arguments, and write a long value apart from its option; name a directory instead of many files.",
        details: { field: "command" },
      },
    );
  };
};
