import { constants } from "node:os";
import type { Launched } from "./launch.ts";
import type { Output } from "./output.ts";

/** What programs that survive the signal print: the name of the error, or the words of libc and shells. */
const TOO_LARGE = /\bEFBIG\b|\bfile too large$|\bfile size limit exceeded\b/im;
const ENDED_BY_LIMIT = 128 + constants.signals.SIGXFSZ;
/** More than an error message needs. */
const READ_CHARS = 100_000;

const OVER_LIMIT =
  "over the file size limit (mcp.tools.command_file_mb); what was written before that is kept";

/** Why a program could not write on. No control group counts this: the kernel tells the program alone. */
export const fileSizeNote = ({ programs }: Launched, output: Output): string | undefined => {
  const failed = programs.filter(({ exitCode }) => exitCode !== 0);
  if (failed.some(({ exitCode }) => exitCode === ENDED_BY_LIMIT)) return OVER_LIMIT;
  return failed.length > 0 && TOO_LARGE.test(output.stderr().slice(-READ_CHARS)) ? OVER_LIMIT : undefined;
};
