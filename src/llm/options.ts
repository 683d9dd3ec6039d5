import { flag, list, type Option, oneOf, section, text, whole } from "../base/option.ts";
import { MODEL_NAME, MODEL_NAME_SHAPE } from "./model-name.ts";

/** Where text is sent, by whom it is paid and who answers is the operator's choice: any change widens. */
const matching = (pattern: RegExp, expected: string, value: string, says: string): Option<string> =>
  text(value, "any", says, { shape: { pattern, expected } });

/** Without a name or password, which would be printed with the configuration. */
const address = (value: string, says: string): Option<string> =>
  matching(
    /^https?:\/\/[^\s/?#@\\]+(?:\/[^\s?#@\\]*)?$/,
    "expected http://HOST or https://HOST, without a password (keys come from the environment)",
    value,
    says,
  );

/** A key pasted here by mistake would be printed: only what can name a variable is taken. */
const variable = (value: string, whose: string): Option<string> =>
  matching(
    /^(?:[A-Z_][A-Z0-9_]*)?$/,
    "expected the name of a variable, in capitals, or nothing",
    value,
    `Name of the environment variable that holds the key ${whose}. Empty: no key is sent.`,
  );

const role = (name: string): Option<string> =>
  text("", "any", `System prompt of ${name}; if empty, the built-in one is used.`);

export const llmSections = [
  section("mcp.llm", "Models. Where text may be sent is decided by mcp.rlm.profile.", {
    agent_model: matching(
      new RegExp(`^$|${MODEL_NAME.source}`),
      MODEL_NAME_SHAPE,
      "",
      "Model behind /invoke_agent: ollama_chat/NAME, openai/NAME, anthropic/NAME or gemini/NAME. Empty: the endpoint acknowledges only.",
    ),
    max_output_tokens: whole(2048, 1, 1_000_000, "more", "Most tokens of one answer of a model."),
    max_input_tokens: whole(
      32_000,
      100,
      10_000_000,
      "more",
      "Longest question to the agent with its context, in tokens; a longer one is refused before it is sent.",
    ),
    context_tokens: whole(
      600,
      1,
      200_000,
      "more",
      "Tokens of retrieved context beside a question to the agent; never more than mcp.rag.token_budget.",
    ),
    timeout_seconds: whole(120, 1, 3600, "more", "Deadline of one call of a model."),
    ollama_url: address("http://127.0.0.1:11434", "Where Ollama answers."),
    ollama_key_env: variable("", "of an Ollama behind a proxy that asks for one"),
    openai_url: address(
      "https://api.openai.com/v1",
      "Where openai/NAME is served: OpenAI, or any server that speaks its chat completions, up to and with /v1.",
    ),
    openai_key_env: variable("OPENAI_API_KEY", "of the server at openai_url"),
    anthropic_url: address("https://api.anthropic.com/v1", "Where anthropic/NAME is served."),
    anthropic_key_env: variable("ANTHROPIC_API_KEY", "of Anthropic"),
    google_url: address("https://generativelanguage.googleapis.com/v1beta", "Where gemini/NAME is served."),
    google_key_env: variable("GEMINI_API_KEY", "of Google"),
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
  }),
  section("mcp.security", "Policy switches.", {
    air_gapped_mode: flag(
      false,
      false,
      "No outbound connections of any kind; so far this covers models only.",
      {
        noEffect: true,
      },
    ),
  }),
] as const;
