import { flag, section, whole } from "../base/option.ts";

export const linkSections = [
  section("mcp", "What the server offers and how much it does at once.", {
    subprocess: flag(
      false,
      false,
      "Over stdio, run what parses input as a process of its own, beside the one that does the work; false: one process.",
      { restart: true },
    ),
    sandbox_enabled: flag(
      true,
      false,
      "Sandbox that process. Left out: where the machine can, otherwise everything runs in one process. Written as true: the server does not start unless the kernel holds its files, network, processes and memory.",
      {
        restart: true,
      },
    ),
    max_memory_mb: whole(512, 64, 1_048_576, "more", "Memory limit of that front.", { restart: true }),
  }),
  section("mcp.performance", "Caches and the link between front and core.", {
    cache_size_mb: whole(
      100,
      0,
      1_048_576,
      "more",
      "Memory, in MiB, of caches: decisions of policies (for 15 minutes) and schemas of tools (for an hour). 0 keeps nothing.",
    ),
    connection_pool_size: whole(
      10,
      1,
      1000,
      "more",
      "Connections between front and core that are kept open.",
      {
        restart: true,
      },
    ),
    circuit_breaker_threshold: whole(
      5,
      1,
      1_000_000,
      "more",
      "Failures of a backend (the index, a model …) within 60 s after which its calls are refused at once, until a probe succeeds.",
    ),
  }),
] as const;
