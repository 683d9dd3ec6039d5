import { LlmcError } from "../../base/error.ts";

/**
 * What everything costs that is looked up for one command line, in questions about a short path: about a second of the
 * server's thread, in which nobody else is answered.
 */
const MAX_COST = 300_000;

/**
 * Counts what is looked up; throws where it is too much, and again whenever it is asked after that. Also throws when the call
 * has ended.
 */
export type LookupBudget = (cost: number) => void;

/** The kernel goes through a path part by part, about as many characters as this in the time of a short question. */
const CHARS_PER_QUESTION = 64;

/** What it costs to ask for, or to go through, one path. */
export const costOfPath = (path: string): number => 1 + Math.floor(path.length / CHARS_PER_QUESTION);

export const createLookupBudget = (signal?: AbortSignal): LookupBudget => {
  let left = MAX_COST;
  return (cost) => {
    signal?.throwIfAborted();
    left -= cost;
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
