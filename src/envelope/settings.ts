import type { ValuesOf } from "../base/option.ts";
import type { envelopeSections } from "./options.ts";

/** What the configuration says about the envelope. */
export interface EnvelopeSettings {
  readonly enabled: boolean;
  /** Timeout of a command that sets none. */
  readonly timeoutSeconds: number;
  /** The most that a command may ask for. */
  readonly maxTimeoutSeconds: number;
  readonly passthroughOnFailure: boolean;
  /** Maximum number of tokens of the first answer; the whole output is behind a handle. */
  readonly firstPageTokens: number;
  /** Tokens that a session's commands may show in all; 0 means no limit. */
  readonly sessionTokenBudget: number;
  /** Budgets of profiles, as configured: `NAME TOKENS`. */
  readonly budgetProfiles: readonly string[];
  readonly logCommands: boolean;
  readonly keepOutput: boolean;
  /** Largest output kept behind one handle. */
  readonly maxHandleBytes: number;
}

/** The values of `[mcp.te]`. */
export type TeValues = ValuesOf<(typeof envelopeSections)[0]>;

const MIB = 1024 * 1024;

export const envelopeSettings = (
  te: TeValues,
  maxHandleMib: number,
  /** `mcp.tools.exec_timeout`; a person's own commands have no such limit. */
  maxTimeoutSeconds = Number.POSITIVE_INFINITY,
): EnvelopeSettings => ({
  enabled: te.enabled,
  timeoutSeconds: te.timeout,
  maxTimeoutSeconds,
  passthroughOnFailure: te.passthrough_on_failure,
  firstPageTokens: te.first_page_tokens,
  sessionTokenBudget: te.session_token_budget,
  budgetProfiles: te.budget_profiles,
  logCommands: te.log_commands,
  keepOutput: te.keep_output,
  maxHandleBytes: maxHandleMib * MIB,
});

/** The budget of a session: that of its profile, which a caller may choose, so it never exceeds everybody's. */
export const budgetOf = (
  { sessionTokenBudget, budgetProfiles }: Pick<EnvelopeSettings, "sessionTokenBudget" | "budgetProfiles">,
  profile = "",
): number => {
  const entry = profile === "" ? undefined : budgetProfiles.find((one) => one.startsWith(`${profile} `));
  const tokens = Number(entry?.slice(profile.length + 1).replaceAll("_", "") ?? Number.NaN);
  if (!Number.isSafeInteger(tokens) || tokens <= 0) return sessionTokenBudget;
  return sessionTokenBudget === 0 ? tokens : Math.min(tokens, sessionTokenBudget);
};
