import { flag, section, whole } from "../base/option.ts";

export const linkSections = [
  section("mcp", "What the server offers and how much it does at once.", {
    subprocess: flag(
      true,
      false,
      "Run what parses input as a process of its own, beside the one that does the work; with TLS, HTTP is served by one process. false: one process.",
      { restart: true },
    ),
    sandbox_enabled: flag(
      true,
      false,
      "Whether the process that parses input is sandboxed. Not set: it is, where the machine can; otherwise everything runs in one process, and the start says so. true: the server starts only if that process runs on its own and the kernel confines its files, network, processes and memory (so not over HTTP with TLS). false: it is not sandboxed.",
      {
        restart: true,
      },
    ),
    max_memory_mb: whole(
      512,
      // A front takes more than 80 when it starts.
      128,
      1_048_576,
      "more",
      "Memory limit of the process that parses input, in MiB; a change replaces that process.",
    ),
  }),
  section("mcp.performance", "Caches and the link between front and core.", {
    cache_size_mb: whole(
      100,
      0,
      1_048_576,
      "more",
      "Memory, in MiB, of caches: decisions of policies (for 15 minutes), schemas of tools (for an hour) and what knowledge bases answered (for 5 minutes). 0 keeps nothing.",
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
