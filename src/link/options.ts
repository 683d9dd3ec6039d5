import { flag, section, whole } from "../base/option.ts";

export const linkSections = [
  section("mcp", "What the server offers and how much it does at once.", {
    subprocess: flag(true, "Run the front that parses input as a subprocess of its own.", {
      planned: true,
      restart: true,
    }),
    sandbox_enabled: flag(true, "Sandbox that front; true never starts without a sandbox.", {
      planned: true,
      restart: true,
    }),
    max_memory_mb: whole(512, 64, 1_048_576, "Memory limit of that front.", { planned: true, restart: true }),
  }),
  section("mcp.security", "Policy switches.", {
    air_gapped_mode: flag(false, "No outbound connection of any kind; so far it holds for models.", {
      planned: true,
    }),
    default_deny: flag(true, "What no policy permits is denied.", { planned: true }),
    escalation_prompts: flag(true, "Ask the user for what policy holds back; no answer means no.", {
      planned: true,
    }),
  }),
  section("mcp.performance", "Caches and the link between front and core.", {
    cache_size_mb: whole(100, 0, 1_048_576, "Memory for caches.", { planned: true }),
    connection_pool_size: whole(10, 1, 1000, "Connections between front and core.", { planned: true }),
    circuit_breaker_threshold: whole(5, 1, 1_000_000, "Failures within 60 s that open the circuit breaker.", {
      planned: true,
    }),
  }),
] as const;
