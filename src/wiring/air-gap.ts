import { LlmcError } from "../base/error.ts";
import { parseModelName, SAMPLING_MODEL } from "../base/model-name.ts";
import type { Loaded } from "../config/load.ts";
import { type Config, ENTRIES, valueAt } from "../config/sections.ts";
import type { Backend } from "../host/air-gap/backend.ts";
import { isAirGapped } from "../host/air-gap/is-air-gapped.ts";
import type { Listen } from "../host/air-gap/open-port.ts";
import { AIR_GAP_VARIABLE, type OpenedOutside } from "../host/air-gap/opened-outside.ts";
import { PROVIDERS } from "../llm/providers.ts";

interface Started {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** What `air_gapped_mode` means for how the program is run. */
export interface AirGap {
  /** Servers on this machine that stay in reach. */
  readonly backends: readonly Backend[];
  /** Where programs outside look for our own socket. */
  readonly invokeSocket?: string;
}

const PORTS: Readonly<Record<string, number>> = {
  "http:": 80,
  "https:": 443,
  "postgres:": 5432,
  "postgresql:": 5432,
  "redis:": 6379,
  "rediss:": 6379,
};

const backendOf = (address: string): Backend | undefined => {
  const url = URL.parse(address);
  if (url === null || !/^(?:localhost|127\.[\d.]+|\[::1\])$/i.test(url.hostname)) return undefined;
  return { host: url.hostname, port: url.port === "" ? (PORTS[url.protocol] ?? 0) : Number(url.port) };
};

const refuseElsewhere = (key: string): LlmcError =>
  new LlmcError(
    "config_invalid",
    `${key} leads to another machine, and mcp.security.air_gapped_mode is true.`,
    { hint: "Name a server on this machine by localhost, 127.0.0.1 or [::1], or leave the key out." },
  );

type Environment = Started["env"];

/** Providers of the models that are configured, whatever they are for. */
const providersOf = (config: Config): ReadonlySet<string> => {
  const models = [...ENTRIES.values()]
    .filter(({ option }) => option.isModel)
    .map(({ key }) => String(valueAt(config, key)));
  return new Set(
    models
      .filter((model) => model !== "" && model !== SAMPLING_MODEL)
      .map((model) => PROVIDERS[parseModelName(model).provider].setting),
  );
};

/**
 * Servers that are in use, or that the operator wrote down; a default of ours that nobody asked for leads nowhere. What is
 * in use has to be on this machine.
 */
const backendsOf = (
  { config, origins }: Pick<Loaded, "config" | "origins">,
  env: Environment,
): readonly Backend[] => {
  const { llm, limits, observability, kb } = config.mcp;
  const asked = providersOf(config);
  const named: readonly (readonly [key: string, address: string, isUsed: boolean])[] = [
    ...(["ollama", "openai", "anthropic", "google"] as const).map(
      (name) => [`mcp.llm.${name}_url`, llm[`${name}_url`], asked.has(name)] as const,
    ),
    ["mcp.limits.state_url", limits.state_url, true],
    ["mcp.kb.store_url_env", env[kb.store_url_env] ?? "", kb.store === "postgres"],
    ["mcp.observability.otlp_endpoint", observability.otlp_endpoint, observability.enabled],
  ];
  const found = named.flatMap(([key, address, isUsed]) => {
    if (address === "" || (!isUsed && origins.get(key)?.source === "default")) return [];
    const backend = backendOf(address);
    if (backend === undefined && isUsed) throw refuseElsewhere(key);
    return backend ?? [];
  });
  return [...new Map(found.map((backend) => [`${backend.host}:${backend.port}`, backend])).values()];
};

/** Undefined where the machine's network may be used. */
export const airGapOf = (loaded: Loaded, env: Environment): AirGap | undefined =>
  loaded.config.mcp.security.air_gapped_mode
    ? {
        backends: backendsOf(loaded, env),
        ...(loaded.config.mcp.server.invoke_socket !== "" && {
          invokeSocket: loaded.config.mcp.server.invoke_socket,
        }),
      }
    : undefined;

/** What the program outside opened for this one; undefined where there is none. */
export const openedOutside = (env: Started["env"]): OpenedOutside | undefined => {
  const text = env[AIR_GAP_VARIABLE];
  return text === undefined || text === "" || !isAirGapped()
    ? undefined
    : (JSON.parse(text) as OpenedOutside);
};

/** What a server opens for others; commands open nothing. */
interface Doors {
  readonly listen?: Listen | undefined;
  readonly isServer: boolean;
}

/**
 * Sees to it that the program runs in an air gap: outside, it is run once more inside, and this resolves to its exit code;
 * inside, the backends are made reachable, and it resolves to nothing.
 */
export const enterIfAirGapped = async (
  { env, cwd }: Started,
  airGap: AirGap | undefined,
  { listen, isServer }: Doors,
): Promise<number | undefined> => {
  if (airGap === undefined) return undefined;
  if (!isAirGapped()) {
    const { runAgainInAirGap } = await import("../host/air-gap/run-again.ts");
    const { backends, invokeSocket } = airGap;
    return runAgainInAirGap({ env, cwd, backends, listen, ...(isServer && { invokeSocket }) });
  }
  const opened = openedOutside(env);
  if (opened === undefined) return undefined;
  const { forwardBackends } = await import("../host/air-gap/forward.ts");
  await forwardBackends(opened.folder, opened.backends);
  return undefined;
};
