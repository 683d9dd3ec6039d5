import { commandText } from "./command-label.ts";
import type { EnvelopeCall } from "./port.ts";

/** How much longer the answer may be where the command says itself how many lines it wants. */
const ASKED_FACTOR = 2;

/** The last program of the line is head or tail, by the look of its text: a wrong guess only makes an answer longer. */
const LAST = /(?:^|[|;&])\s*(?:[^\s|;&]*\/)?(?:head|tail)((?:\s+[^\s|;&]+)+)\s*$/;
/** `-20`, `-n 20`, `--lines=20`; not `-n +20` or `-n -20`, which leave the number of lines open. */
const COUNT = /(?<!\s-n|--lines)\s(?:-|-n\s*|--lines[=\s])\d/;

/**
 * Maximum tokens of a command's first answer. Who asks for 100 lines would fetch those that a summary leaves out, and
 * pay for the rest twice.
 */
export const firstAnswerTokens = (command: EnvelopeCall["command"], firstPageTokens: number): number => {
  const args = LAST.exec(commandText(command))?.[1];
  return args !== undefined && COUNT.test(args) ? firstPageTokens * ASKED_FACTOR : firstPageTokens;
};
