import { LlmcError } from "../base/error.ts";
import type { Grant, Usage } from "../host/state/usage/usage.ts";
import type { Session } from "./contract.ts";
import { pageTokens } from "./text/page.ts";

/** What the owner of a session may be shown by one command; undefined where nothing limits it. */
export interface Allowance {
  readonly pageTokens: number;
  /** Reserved from the budget before the run; the unused part is returned. */
  readonly reserved: number | undefined;
  /** Remaining budget before this command. */
  readonly left: number | undefined;
}

interface AllowanceOptions {
  readonly usage: Pick<Usage, "reserve"> | undefined;
  /** 0 means no limit. */
  readonly budgetTokens: number;
  readonly usualTokens: number;
  /** What happens if the state database fails: no limit, unless the operator wants the error. */
  readonly tolerate: (work: () => Promise<Grant>) => Promise<Grant | undefined>;
}

/** Refuses an owner that has spent its budget; a command without an owner has none. */
export const allow = async (
  { owner }: Session,
  { usage, budgetTokens, usualTokens, tolerate }: AllowanceOptions,
): Promise<Allowance> => {
  if (usage === undefined || budgetTokens === 0 || owner === "")
    return { pageTokens: usualTokens, reserved: undefined, left: undefined };
  const grant = await tolerate(() =>
    usage.reserve(owner, budgetTokens, (left) => pageTokens(usualTokens, budgetTokens, left)),
  );
  if (grant?.granted === 0) {
    throw new LlmcError(
      "budget_exceeded",
      `You have been shown the ${budgetTokens} tokens of command output that a day allows.`,
      {
        hint: "What was kept can still be read by its handle. The budget starts afresh a day after its first use; the operator can raise mcp.te.session_token_budget.",
        details: { budget_tokens: budgetTokens },
      },
    );
  }
  return { pageTokens: grant?.granted ?? usualTokens, reserved: grant?.granted, left: grant?.left };
};
