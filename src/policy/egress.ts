/** What is known of a model call before any connection is opened. */
interface ModelEgress {
  /** `restricted`: nothing leaves this machine. */
  readonly profile: "restricted" | "unrestricted";
  /** If empty, only the profile decides. */
  readonly allowedModelPrefixes: readonly string[];
  /** The whole name, `ollama_chat/qwen3:8b`. */
  readonly model: string;
  readonly baseUrl: string;
}

export type EgressDecision =
  | {
      readonly allowed: true;
      /** What `localhost` stands for is known only when it is looked up: any other address is refused then. */
      readonly loopbackOnly: boolean;
    }
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

/** Any other name would need a DNS query, which reveals it to others; the address is checked again when connecting. */
const isThisMachine = (host: string): boolean =>
  isLoopbackAddress(host) || /^(?:[\w-]+\.)*localhost\.?$/i.test(host);

/** Ollama on this machine, and not its cloud: calls are free. What else listens on loopback may pass calls on. */
export const isFreeOfCharge = (model: string, baseUrl: string): boolean => {
  const host = URL.parse(baseUrl)?.hostname ?? "";
  return /^ollama(?:_chat)?\//.test(model) && !OLLAMA_CLOUD.test(model) && isThisMachine(host);
};

const refuse = (reason: string, hint: string): EgressDecision => ({ allowed: false, reason, hint });

const RULE = 'mcp.rlm.profile is "restricted"';
const UNRESTRICT = 'or write profile = "unrestricted" under [mcp.rlm] in your configuration.';

const decideLocal = (model: string, host: string): EgressDecision => {
  const [provider = ""] = model.split("/", 1);
  const local = `Use a model that runs on this machine, such as ollama_chat/NAME, ${UNRESTRICT}`;
  if (!LOCAL_PROVIDERS.has(provider)) {
    return refuse(`The model is not a local one, and ${RULE}.`, local);
  }
  // Its server also speaks OpenAI's protocol.
  if (OLLAMA_CLOUD.test(model)) {
    return refuse(`The model runs in Ollama's cloud, and ${RULE}.`, local);
  }
  if (!isThisMachine(host)) {
    return refuse(
      `The model's server is not on this machine, and ${RULE}.`,
      `Give it a loopback address or localhost, such as http://127.0.0.1:11434, ${UNRESTRICT}`,
    );
  }
  return { allowed: true, loopbackOnly: true };
};

/** Whether text may be sent to this model at this address. */
export const decideEgress = (facts: ModelEgress): EgressDecision => {
  const { profile, allowedModelPrefixes, model, baseUrl } = facts;
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
  // An empty prefix would allow everything by accident.
  const fits = allowedModelPrefixes.some((prefix) => prefix !== "" && model.startsWith(prefix));
  if (allowedModelPrefixes.length > 0 && !fits) {
    return refuse(
      "The model is not among mcp.rlm.allowed_model_prefixes.",
      "The operator extends that list, or configures another model.",
    );
  }
  if (profile === "restricted") return decideLocal(model, url.hostname);
  return { allowed: true, loopbackOnly: false };
};
