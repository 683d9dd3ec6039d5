/** What is known of a model call before any connection is opened. */
interface ModelEgress {
  /** `restricted`: nothing leaves this machine. */
  readonly profile: "restricted" | "unrestricted";
  /** Restricted, whatever the profile. */
  readonly isAirGapped?: boolean | undefined;
  /** If empty, only the profile decides. */
  readonly allowedModelPrefixes: readonly string[];
  /** The whole name, `ollama_chat/qwen3:8b`. */
  readonly model: string;
  readonly baseUrl: string;
  /** Hosts of the operator's own network, names or addresses, that may be used in the restricted profile. */
  readonly privateHosts?: readonly string[];
}

/**
 * Which addresses may be connected to. What a name stands for is known only when it is looked up, so its addresses are
 * judged then, before a packet is sent.
 */
export type EgressReach = "loopback" | "private" | "anywhere";

export type EgressDecision =
  | { readonly allowed: true; readonly reach: EgressReach }
  | { readonly allowed: false; readonly reason: string; readonly hint: string };

/** Those whose server can run on this machine. The others are clouds, even behind a proxy on loopback. */
const LOCAL_PROVIDERS = new Set(["ollama_chat", "ollama", "openai"]);

/** Ollama passes models of these names on to its own cloud, from a server on loopback. */
const OLLAMA_CLOUD = /[:-]cloud$/i;

const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;

/** `URL` brings every spelling of an address (decimal, octal, short, mapped) into one. */
const canonicalHost = (host: string): string | undefined => {
  if (!/^[\w.:[\]-]+$/.test(host)) return undefined;
  const inUrl = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  return URL.parse(`http://${inUrl}/`)?.hostname;
};

/** Whether an address (never a name) is a loopback address. `0.0.0.0` is not: elsewhere it means other things. */
export const isLoopbackAddress = (address: string): boolean => {
  const host = canonicalHost(address);
  if (host === undefined) return false;
  if (IPV4.test(host)) return host.startsWith("127.");
  return host === "[::1]" || /^\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]$/.test(host);
};

/** IPv4 networks that are not the public Internet (RFC 6890 and its successors), as address and bits. */
const SPECIAL_V4: readonly (readonly [address: string, bits: number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];

const numberOfV4 = (address: string): number =>
  address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);

const isPublicV4 = (address: string): boolean => {
  const number = numberOfV4(address);
  return !SPECIAL_V4.some(([network, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(number / size) === Math.floor(numberOfV4(network) / size);
  });
};

/** The first two groups, in full. */
const firstGroups = (host: string): readonly [number, number] => {
  const [first = "", second = ""] = host.slice(1, -1).split(":");
  return [Number.parseInt(first || "0", 16), Number.parseInt(second || "0", 16)];
};

const MAPPED_IPV4 = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;

const unmapped = (host: string): string => {
  const [, high, low] = MAPPED_IPV4.exec(host) ?? [];
  if (high === undefined || low === undefined) return host;
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`;
};

/**
 * Whether an address (never a name) is one of the public Internet. Of IPv6, global unicast alone counts, without what holds
 * an IPv4 address (6to4, Teredo) or is for documentation; what is mapped counts as what it stands for.
 */
export const isPublicAddress = (address: string): boolean => {
  const host = unmapped(canonicalHost(address) ?? "");
  if (IPV4.test(host)) return isPublicV4(host);
  if (!host.startsWith("[")) return false;
  const [first, second] = firstGroups(host);
  if (first < 0x2000 || first > 0x3fff || first === 0x2002) return false;
  if (first === 0x2001 && (second < 0x200 || second === 0xdb8)) return false;
  return !(first === 0x3fff && second < 0x1000);
};

const PRIVATE_IPV4 = /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)/;
/** Unique local addresses (RFC 4193). */
const PRIVATE_IPV6 = /^\[f[cd][0-9a-f]{2}:/;
/** Whether an address (never a name) is of this machine or of a private network (RFC 1918, RFC 4193). */
export const isPrivateAddress = (address: string): boolean => {
  if (isLoopbackAddress(address)) return true;
  const host = unmapped(canonicalHost(address) ?? "");
  return IPV4.test(host) ? PRIVATE_IPV4.test(host) : PRIVATE_IPV6.test(host);
};

/** Any other name would need a DNS query, which reveals it to others; the address is checked again when connecting. */
export const isThisMachine = (host: string): boolean =>
  isLoopbackAddress(host) || /^(?:[\w-]+\.)*localhost\.?$/i.test(host);

/** Ollama on this machine, and not its cloud: calls are free. What else listens on loopback may pass calls on. */
export const isFreeOfCharge = (model: string, baseUrl: string): boolean => {
  const host = URL.parse(baseUrl)?.hostname ?? "";
  return /^ollama(?:_chat)?\//.test(model) && !OLLAMA_CLOUD.test(model) && isThisMachine(host);
};

const refuse = (reason: string, hint: string): EgressDecision => ({ allowed: false, reason, hint });

/** Why only this machine will do, and how the operator can change that. */
const RESTRICTED = {
  rule: 'mcp.rlm.profile is "restricted"',
  lift: ', or write profile = "unrestricted" under [mcp.rlm] in your configuration.',
};
const AIR_GAPPED = { rule: "mcp.security.air_gapped_mode is true", lift: "." };

const isListed = (host: string, privateHosts: readonly string[]): boolean =>
  privateHosts.some((one) => canonicalHost(one) === host);

const decideLocal = (
  { model, privateHosts = [] }: Pick<ModelEgress, "model" | "privateHosts">,
  host: string,
  { rule, lift }: typeof RESTRICTED,
): EgressDecision => {
  const [provider = ""] = model.split("/", 1);
  const local = `Use a model that runs on this machine, such as ollama_chat/NAME${lift}`;
  if (!LOCAL_PROVIDERS.has(provider)) {
    return refuse(`The model is not a local one, and ${rule}.`, local);
  }
  // Its server also speaks OpenAI's protocol.
  if (OLLAMA_CLOUD.test(model)) {
    return refuse(`The model runs in Ollama's cloud, and ${rule}.`, local);
  }
  if (isThisMachine(host)) return { allowed: true, reach: "loopback" };
  if (isListed(host, privateHosts)) return { allowed: true, reach: "private" };
  const listing =
    rule === AIR_GAPPED.rule ? "" : ", add its host to mcp.rlm.private_hosts if it is in your own network";
  return refuse(
    `The model's server is not on this machine, and ${rule}.`,
    `Give it a loopback address or localhost, such as http://127.0.0.1:11434${listing}${lift}`,
  );
};

/** Undefined: the operator's list of models allows it, or there is none. */
const refuseUnlisted = ({ allowedModelPrefixes, model }: Omit<ModelEgress, "baseUrl">) => {
  // An empty prefix would allow everything by accident.
  const fits = allowedModelPrefixes.some((prefix) => prefix !== "" && model.startsWith(prefix));
  return allowedModelPrefixes.length === 0 || fits
    ? undefined
    : refuse(
        "The model is not among mcp.rlm.allowed_model_prefixes.",
        "The operator extends that list, or configures another model.",
      );
};

/** Whether text may be sent to a model of which nobody knows where it runs. */
export const decideUnknownEgress = (facts: Omit<ModelEgress, "baseUrl">): EgressDecision => {
  const unlisted = refuseUnlisted(facts);
  if (unlisted !== undefined) return unlisted;
  const { rule, lift } = facts.isAirGapped ? AIR_GAPPED : RESTRICTED;
  return facts.isAirGapped || facts.profile === "restricted"
    ? refuse(`Where the model runs is not known, and ${rule}.`, `Use a model on this machine${lift}`)
    : { allowed: true, reach: "anywhere" };
};

/** Whether text may be sent to this model at this address. */
export const decideEgress = (facts: ModelEgress): EgressDecision => {
  const { profile, isAirGapped, model, baseUrl } = facts;
  const url = URL.parse(baseUrl);
  if (url === null) {
    return refuse("The address of the model's server is malformed.", "It is http://… or https://….");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return refuse("The address of the model's server is neither http nor https.", "Use one of the two.");
  }
  if (url.username !== "" || url.password !== "") {
    return refuse(
      "The address of the model's server holds a name or password.",
      "Keys come from environment variables: see mcp.llm.",
    );
  }
  const unlisted = refuseUnlisted(facts);
  if (unlisted !== undefined) return unlisted;
  // Outside of this machine nothing is reached, whatever the profile lists.
  if (isAirGapped) return decideLocal({ model }, url.hostname, AIR_GAPPED);
  if (profile === "restricted") return decideLocal(facts, url.hostname, RESTRICTED);
  return { allowed: true, reach: "anywhere" };
};
