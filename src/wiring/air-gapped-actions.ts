import type { Actions, CommonOptions } from "../cli/actions.ts";
import type { Invocation } from "./invocation.ts";
import { loadFor } from "./load.ts";
import { requestOf } from "./request.ts";

/**
 * Where a command runs with `air_gapped_mode`: outside, if it only reads and writes files of the operator; all others do a
 * server's work. The type has every action, so a new one does not compile before somebody has decided it.
 */
const RUNS: Readonly<Record<keyof Actions, "outside" | "inside">> = {
  init: "outside",
  allow: "outside",
  trust: "outside",
  quarantine: "outside",
  showConfig: "outside",
  validateConfig: "outside",
  explainConfig: "outside",
  completion: "outside",
  token: "outside",
  verifyAudit: "outside",
  showAudit: "outside",
  exportAudit: "outside",
  connect: "outside",
  viewTrace: "outside",
  serve: "inside",
  validateRepo: "inside",
  checkPolicies: "inside",
  explainPolicy: "inside",
  testPolicies: "inside",
  doctor: "inside",
  tools: "inside",
  locks: "inside",
  usage: "inside",
  call: "inside",
  index: "inside",
  search: "inside",
  queryRlm: "inside",
  whereUsed: "inside",
  kb: "inside",
  inspect: "inside",
};

/** With `air_gapped_mode`, a command runs once more in an air gap, and here nothing is done. */
export const inAirGap = (run: Invocation, actions: Actions): Actions => {
  const runInside = async (options: CommonOptions): Promise<boolean> => {
    // A configuration with errors is reported by the command itself, which does nothing then.
    const loaded = await requestOf(run, options)
      .then(loadFor)
      .catch(() => undefined);
    if (!loaded?.config.mcp.security.air_gapped_mode) return false;
    const { airGapOf, enterIfAirGapped } = await import("./air-gap.ts");
    const { host, port, max_connections: maxConnections } = loaded.config.mcp.server;
    const listen = "http" in options && options.http === true ? { host, port, maxConnections } : undefined;
    const doors = { listen, isServer: listen !== undefined };
    const code = await enterIfAirGapped(run, airGapOf(loaded, run.env), doors);
    if (code !== undefined) run.setExitCode(code);
    return code !== undefined;
  };
  const wrapped = Object.entries(actions).map(
    ([name, action]: [string, (...args: never[]) => Promise<void>]) => {
      const wrap = async (...args: never[]): Promise<void> => {
        if (!(await runInside(args.at(-1) as unknown as CommonOptions))) await action(...args);
      };
      return [name, RUNS[name as keyof Actions] === "outside" ? action : wrap];
    },
  );
  return Object.fromEntries(wrapped) as Actions;
};
