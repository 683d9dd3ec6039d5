import { posix } from "node:path";
import { LlmcError, withHint } from "../../base/error.ts";
import type { PermitProgram } from "../../policy/permit.ts";
import { type CommandGate, createCommandGate, type GateOptions } from "./commands.ts";
import type { CommandCall } from "./contract.ts";
import type { UserProgram } from "./user-programs/find-program.ts";
import {
  type CommandGrant,
  type GrantPlan,
  joinGrants,
  NO_GRANT,
  planGrant,
} from "./user-programs/plan-grant.ts";

interface PermittedGateOptions extends GateOptions {
  /** Finds a program as the user's shell does; throws if there is none. */
  readonly findProgram: (name: string) => Promise<UserProgram>;
}

const withGrant = (options: PermittedGateOptions, grant: CommandGrant): GateOptions => ({
  ...options,
  settings: () => {
    const settings = options.settings();
    return {
      ...settings,
      allowlist: [...settings.allowlist, ...grant.allowlist],
      powers: [...settings.powers, ...grant.powers],
      readPaths: [...settings.readPaths, ...grant.readPaths],
    };
  },
});

const isNew = (plan: GrantPlan, grant: CommandGrant): boolean =>
  plan.allowlist.some((entry) => !grant.allowlist.includes(entry)) ||
  plan.powers.some((power) => !grant.powers.includes(power));

/** Nobody is asked for what would fail all the same. */
const NO_NETWORK =
  "Commands have no network unless the operator opens it: mcp.tools.allow_outbound_network = true";

/**
 * The gate, with policy in front of it: what the allowlist and the powers refuse can be granted by a policy or by the user
 * who is asked, and what they allow can be forbidden by a policy. A refusal that nobody may lift names no needs, and passes
 * through as it is.
 */
export const createPermittedGate = (options: PermittedGateOptions): CommandGate => {
  const plain = createCommandGate(options);

  /** Without a sandbox nothing keeps commands from it. */
  const hasNetwork = async (): Promise<boolean> =>
    options.settings().network || (await options.runner.tier()) === "plain";

  const askFor = async (
    refusal: LlmcError,
    { command }: CommandCall,
    permit: PermitProgram,
  ): Promise<GrantPlan> => {
    const { needs = [] } = refusal;
    const plan = await planGrant(needs, options.findProgram).catch(() => {
      // A program that does not exist is refused like one that is not allowed (FAIL-C6).
      throw refusal;
    });
    if (plan.powers.some((power) => power.endsWith(":network")) && !(await hasNetwork()))
      throw refusal.hint?.includes("network") ? refusal : withHint(refusal, NO_NETWORK);
    const program = posix.basename(command[0]);
    permit({
      program,
      realName: posix.basename(plan.realPath ?? program),
      needs: { ...plan, refusal },
    });
    return plan;
  };

  /** Does the work with the gate that has the grants that it takes. */
  const permitted = async <T>(
    grant: CommandGrant,
    call: CommandCall,
    work: (gate: CommandGate) => Promise<T>,
  ): Promise<T> => {
    const permit = call.session?.permit;
    const gate = grant === NO_GRANT ? plain : createCommandGate(withGrant(options, grant));
    try {
      return await work(gate);
    } catch (thrown) {
      if (permit === undefined || !(thrown instanceof LlmcError) || thrown.needs === undefined) throw thrown;
      const plan = await askFor(thrown, call, permit);
      if (!isNew(plan, grant)) throw thrown;
      return permitted(joinGrants(grant, plan), call, work);
    }
  };

  return {
    ...plain,
    writerOf: (call, signal) => permitted(NO_GRANT, call, (gate) => gate.writerOf(call, signal)),
    check: (call, signal) => permitted(NO_GRANT, call, (gate) => gate.check(call, signal)),
    pass: (call, turn, signal, work) =>
      permitted(NO_GRANT, call, (gate) => gate.pass(call, turn, signal, work)),
  };
};
