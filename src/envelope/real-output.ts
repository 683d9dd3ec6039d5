import { takeBeginning } from "../base/text.ts";
import type { Output } from "./output.ts";
import type { Shown } from "./shown.ts";

/** The output itself, for programs. */
export interface RealOutput {
  readonly stdout: string;
  readonly stderr: string;
  /** More was written than this; a handle holds it. */
  readonly truncated: boolean;
}

/** About 7,500 and 2,000 tokens: some clients hand the structured result to the model, too. */
const STDOUT_CHARS = 30_000;
const STDERR_CHARS = 8_000;

/** What was written, as it is. Whoever asks for the raw output gets the page that is shown. */
export const realOutput = (output: Output, shown: Shown): RealOutput => {
  if (shown.mode === "raw") return { stdout: shown.stdout, stderr: shown.stderr, truncated: shown.truncated };
  const [stdout, stderr] = [output.stdout(false), output.stderr()];
  const [out, err] = [takeBeginning(stdout, STDOUT_CHARS), takeBeginning(stderr, STDERR_CHARS)];
  const truncated = output.isLong || out.length < stdout.length || err.length < stderr.length;
  return { stdout: out, stderr: err, truncated };
};
