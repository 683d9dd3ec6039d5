import { toLlmcError } from "../base/error.ts";
import type { Finding } from "../cli/doctor-command.ts";
import type { Loaded } from "../config/load.ts";
import { airGapOf } from "./air-gap.ts";
import { frontSettingsOf } from "./front-settings.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const NAME = "isolation";

/** `mcp.subprocess` and `mcp.sandbox_enabled` are about stdio. */
const OVER_HTTP = "over HTTP it runs in the process that does the work";

/** What holds what parses input, over stdio; in any case, what does over HTTP. */
const examineFront = async (loaded: Loaded, env: Environment): Promise<Finding> => {
  const { isSplit, sandbox, maxMemoryMb } = frontSettingsOf(loaded, env);
  if (!isSplit)
    return {
      name: NAME,
      state: "weak",
      detail: "what parses input runs in the process that does the work",
      fix: "leave mcp.subprocess out",
    };
  if (sandbox === "off")
    return {
      name: NAME,
      state: "weak",
      detail: `what parses input is a process of its own over stdio, without a sandbox; ${OVER_HTTP}`,
      fix: "leave mcp.sandbox_enabled out",
    };
  const [{ confinement }, { FRONT_CPU_SHARE }] = await Promise.all([
    import("../host/confine/confinement.ts"),
    import("../host/confine/contract.ts"),
  ]);
  const { tier, missing, hint } = await confinement({ memoryMb: maxMemoryMb, cpuShare: FRONT_CPU_SHARE });
  const detail = `what parses input is a process of its own, over stdio: ${tier}; ${OVER_HTTP}`;
  if (missing.length === 0) return { name: NAME, state: "good", detail };
  return {
    name: NAME,
    state: sandbox === "required" ? "bad" : "weak",
    detail: `${detail}; the kernel does not hold ${missing.join(", ")}`,
    ...(hint === undefined ? {} : { fix: hint }),
  };
};

const examineAirGap = (loaded: Loaded, env: Environment): readonly Finding[] => {
  const airGap = airGapOf(loaded, env);
  if (airGap === undefined) return [];
  const reached = airGap.backends.map(({ host, port }) => `${host}:${port}`).join(", ");
  // This command itself runs in one by now, or it would not have come so far.
  return [
    { name: "air gap", state: "good", detail: `a network namespace; relayed: ${reached || "nothing"}` },
  ];
};

export const examineIsolation = async (
  loaded: Loaded | undefined,
  env: Environment,
): Promise<readonly Finding[]> => {
  if (loaded === undefined) return [];
  try {
    return [await examineFront(loaded, env), ...examineAirGap(loaded, env)];
  } catch (thrown) {
    const { message, hint } = toLlmcError(thrown);
    return [{ name: NAME, state: "bad", detail: message, ...(hint === undefined ? {} : { fix: hint }) }];
  }
};
