import { LlmcError } from "../base/error.ts";
import type { Io } from "./io.ts";

interface Change {
  readonly question: string;
  /** What has not happened where the person does not agree. */
  readonly done: "written" | "removed";
  /** What to type instead, where there is no terminal. */
  readonly hint: string;
}

/** Whether the person agrees to a change: by `--yes`, or when they are asked. Refused where nobody can be asked. */
export const confirmChange = async (
  io: Io,
  yes: boolean | undefined,
  { question, done, hint }: Change,
): Promise<boolean> => {
  if (yes === true) return true;
  if (!io.canAsk)
    throw new LlmcError(
      "invalid_args",
      `Nothing was ${done}, because there is no terminal to ask for confirmation.`,
      { hint },
    );
  if (await io.confirm(question)) return true;
  io.out(`Nothing was ${done}.\n`);
  return false;
};
