import { flag, list, modelName, type Option, oneOf, section, text, whole } from "../base/option.ts";

/** `MODEL=INPUT/OUTPUT`, in US dollars for a million tokens. */
export const OWN_PRICE = /^(?<model>[^\s=]+)=(?<input>\d+(?:\.\d+)?)\/(?<output>\d+(?:\.\d+)?)$/;

/** Where text is sent, who pays and who answers is the operator's choice, so any change widens. */
const matching = (pattern: RegExp, expected: string, value: string, description: string): Option<string> =>
  text(value, "any", description, { shape: { pattern, expected } });

/** Without user name and password, which would be printed with the configuration. */
const address = (value: string, description: string): Option<string> =>
  matching(
    /^https?:\/\/[^\s/?#@\\]+(?:\/[^\s?#@\\]*)?$/,
    "expected http://HOST or https://HOST, without a password (keys come from the environment)",
    value,
    description,
  );

/** Only names of variables are accepted, because a key pasted here by mistake would be printed. */
const variable = (value: string, whose: string): Option<string> =>
  matching(
    /^(?:[A-Z_][A-Z0-9_]*)?$/,
    "expected the name of a variable, in capitals, or nothing",
    value,
    `Name of the environment variable that holds the key ${whose}. If empty, no key is sent.`,
  );

const role = (name: string): Option<string> =>
  text("", "any", `System prompt of ${name}; if empty, the built-in one is used.`);

export const llmSections = [
  section("mcp.llm", "Models. Where text may be sent is decided by mcp.rlm.profile.", {
    agent_model: modelName(
      "Model behind /invoke_agent: ollama_chat/NAME, openai/NAME, anthropic/NAME or gemini/NAME. If empty, the endpoint only acknowledges messages.",
    ),
    max_output_tokens: whole(
      2048,
      1,
      1_000_000,
      "more",
      "Maximum number of tokens in one answer of a model.",
    ),
    max_input_tokens: whole(
      32_000,
      100,
      10_000_000,
      "more",
      "Maximum number of tokens in a message to the agent with its context; a longer one is refused before it is sent.",
    ),
    context_tokens: whole(
      600,
      1,
      200_000,
      "more",
      "Tokens of retrieved context for a message to the agent; at most mcp.rag.token_budget.",
    ),
    response_cache_minutes: whole(
      0,
      0,
      10_080,
      "more",
      "For how long the answers of models to analyses are kept in memory, and given again to the same caller for the same request; 0: they are not kept.",
    ),
    timeout_seconds: whole(120, 1, 3600, "more", "Timeout of one call of a model."),
    ollama_url: address("http://127.0.0.1:11434", "URL of Ollama."),
    ollama_key_env: variable("", "of an Ollama server behind a proxy that needs one"),
    openai_url: address(
      "https://api.openai.com/v1",
      "URL for openai/NAME, including /v1: OpenAI, or any server with its chat completions API.",
    ),
    openai_key_env: variable("OPENAI_API_KEY", "of the server at openai_url"),
    anthropic_url: address("https://api.anthropic.com/v1", "URL for anthropic/NAME."),
    anthropic_key_env: variable("ANTHROPIC_API_KEY", "of Anthropic"),
    google_url: address("https://generativelanguage.googleapis.com/v1beta", "URL for gemini/NAME."),
    google_key_env: variable("GEMINI_API_KEY", "of Google"),
    prices: list(
      [],
      "any",
      "Your own prices, as MODEL=INPUT/OUTPUT in US dollars for a million tokens; they come before the built-in list.",
      {
        shape: {
          pattern: OWN_PRICE,
          expected: "expected MODEL=INPUT/OUTPUT, such as openai/my-model=0.5/1.5",
        },
      },
    ),
  }),
  section("mcp.llm.roles", "The agents that /invoke_agent knows.", {
    beatrice: role("Beatrice"),
    otto: role("Otto"),
    rem: role("Rem"),
    grace: role("Grace"),
  }),
  section("mcp.rlm", "Recursive Language Model analyses.", {
    profile: oneOf(
      ["restricted", "unrestricted"],
      "restricted",
      ["restricted", "unrestricted"],
      "restricted: only models on this machine, for analyses and for /invoke_agent; unrestricted: any model.",
    ),
    allowed_model_prefixes: list(
      [],
      "filter",
      "Prefixes of the models that may be used; if empty, only the profile decides.",
    ),
    private_hosts: list(
      [],
      "additions",
      "Hosts of your own network, names or addresses, whose models the restricted profile may use, too; their addresses have to be private ones.",
      {
        shape: {
          pattern: /^[\w.:[\]-]+$/,
          expected: "expected the name or the address of a host, without a port",
        },
      },
    ),
  }),
  section("mcp.security", "Policy: who may do what, and when the user is asked.", {
    air_gapped_mode: flag(
      false,
      false,
      "Run everything in a network namespace that has only a loopback of its own, so that no packet leaves; where none can be made, the server does not start. Servers on this machine that the configuration names (models, Redis, PostgreSQL, traces) are reached through a relay.",
      { restart: true },
    ),
  }),
] as const;
