import type { ValuesOf } from "../base/option.ts";
import type { envelopeSections } from "./options.ts";

/** What the configuration says about the envelope. */
export interface EnvelopeSettings {
  readonly enabled: boolean;
  /** Timeout of a command that sets none. */
  readonly timeoutSeconds: number;
  /** The key that says so. */
  readonly timeoutKey: "mcp.te.timeout" | "mcp.tools.exec_timeout";
  /** The most that a command may ask for. */
  readonly maxTimeoutSeconds: number;
  /** Commands reach the network, and with it the loopback that they share. */
  readonly hasNetwork: boolean;
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

/** What the gate lets commands do. */
export type GateSettings = Pick<EnvelopeSettings, "timeoutSeconds" | "maxTimeoutSeconds" | "hasNetwork">;

/** A person's own commands pass no gate. */
const UNLIMITED: GateSettings = {
  timeoutSeconds: Number.POSITIVE_INFINITY,
  maxTimeoutSeconds: Number.POSITIVE_INFINITY,
  hasNetwork: true,
};

export const envelopeSettings = (
  te: TeValues,
  maxHandleMib: number,
  gate: GateSettings = UNLIMITED,
): EnvelopeSettings => ({
  ...gate,
  enabled: te.enabled,
  ...(te.enabled && te.timeout > 0 && te.timeout <= gate.timeoutSeconds
    ? { timeoutSeconds: te.timeout, timeoutKey: "mcp.te.timeout" }
    : { timeoutKey: "mcp.tools.exec_timeout" }),
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
