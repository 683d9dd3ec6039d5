import { describe, expect, expectTypeOf, it } from "vitest";
import type { Section } from "../base/option.ts";
import { checkValue } from "./check-value.ts";
import { buildConfig, type Config, ENTRIES, LAYOUT, ROOM_SECTIONS, TABLES, valueAt } from "./sections.ts";

const LAID_OUT = Object.entries<readonly Section[]>(LAYOUT);

/** What the five design documents show, table by table. */
const DOCUMENTED = {
  mcp: "enabled config_version mode subprocess sandbox_enabled max_memory_mb max_concurrent_requests request_timeout_seconds",
  "mcp.server": "host port tls_enabled",
  "mcp.auth": "mode header token_env allow_unauthenticated",
  "mcp.tools":
    "enable_run_cmd allowed_roots allow_outbound_network run_cmd_allowlist exec_timeout read_timeout idle_timeout",
  "mcp.rag": "jit_context_enabled default_scope top_k token_budget",
  "mcp.observability":
    "enabled metrics_enabled metrics_prometheus_enabled metrics_path csv_token_audit_enabled csv_path log_format log_level retention_days include_correlation_id",
  "mcp.limits":
    "rate_limit_rps rate_limit_burst concurrency_per_token max_request_bytes max_header_bytes max_frame_bytes",
  "mcp.session": "default_agent_id default_model",
  "mcp.te": "enabled timeout passthrough_on_failure",
  "mcp.resources": "sidecars",
  "mcp.hybrid": "promoted_tools include_execute_code bootstrap_budget_warning",
  "mcp.code_execution": "enabled",
  "mcp.security": "air_gapped_mode default_deny escalation_prompts",
  "mcp.performance": "cache_size_mb connection_pool_size circuit_breaker_threshold",
  "mcp.logging": "level structured_output trace_propagation",
  "mcp.rlm":
    "enabled profile allow_path allow_absolute_paths denylist_globs default_max_bytes default_timeout_s allow_model_override allowed_model_prefixes",
  "mcp.linux_ops.roots": "allowed_roots enforce_roots",
};

describe("the layout", () => {
  it("holds every section of every room, under the section's own path", () => {
    expect(new Set(LAID_OUT.flatMap(([, sections]) => sections))).toEqual(new Set(ROOM_SECTIONS));
    for (const [path, sections] of LAID_OUT)
      expect(sections.map((s) => s.path)).toEqual(sections.map(() => path));
  });

  it("merges rooms that share a table: one sentence, and no key twice", () => {
    for (const [path, sections] of LAID_OUT) {
      expect(new Set(sections.map(({ description }) => description)).size, path).toBe(1);
      const names = sections.flatMap(({ options }) => Object.keys(options));
      expect(new Set(names).size, path).toBe(names.length);
    }
  });
});

describe("the keys", () => {
  it.each(Object.entries(DOCUMENTED))("REQ-C1: [%s] has every key of the documents", (table, names) => {
    for (const name of names.split(" ")) expect([...ENTRIES.keys()]).toContain(`${table}.${name}`);
  });

  it("REQ-C1: every key is typed, its default passes its own check, and it has a sentence", () => {
    for (const { key, option } of ENTRIES.values()) {
      const isLeftOut = option.default === null;
      expect("value" in checkValue(option, option.default) || isLeftOut, key).toBe(true);
      expect(option.description, key).toMatch(/\.$|\)$/);
    }
  });

  it("REQ-C2: no two keys share an environment variable, and none takes the token's", () => {
    const variables = [...ENTRIES.values()].map(({ variable }) => variable);
    expect(new Set(variables).size).toBe(variables.length);
    expect(variables).toContain("LLMC_MCP_LINUX_OPS_ROOTS_ALLOWED_ROOTS");
    expect(variables).not.toContain("LLMC_MCP_TOKEN");
  });

  it("never names a table and a key alike", () => {
    for (const { path } of TABLES) expect(ENTRIES.has(path)).toBe(false);
  });
});

describe("the config object", () => {
  it("has a type derived from the sections", () => {
    expectTypeOf<Config["mcp"]["tools"]["allowed_roots"]>().toEqualTypeOf<readonly string[]>();
    expectTypeOf<Config["mcp"]["mode"]>().toEqualTypeOf<"classic" | "hybrid" | "code_execution">();
    expectTypeOf<Config["mcp"]["linux_ops"]["roots"]["allowed_roots"]>().toEqualTypeOf<
      readonly string[] | null
    >();
    expectTypeOf<Config["mcp"]["server"]["port"]>().toEqualTypeOf<number>();
    // One table, three rooms.
    expectTypeOf<Config["mcp"]["limits"]["max_output_bytes"]>().toEqualTypeOf<number>();
    expectTypeOf<Config["mcp"]["limits"]["max_header_bytes"]>().toEqualTypeOf<number>();
    expectTypeOf<Config["mcp"]["limits"]["max_frame_bytes"]>().toEqualTypeOf<number>();
    expectTypeOf<Config["mcp"]>().not.toHaveProperty("toolz");
  });

  it("REQ-D15: nothing set gives the safe defaults", () => {
    const { mcp } = buildConfig(new Map());
    expect(mcp.tools.run_cmd_allowlist.join(" ")).toBe(
      "ls cat head tail wc stat file find grep rg sort uniq diff tree git pytest",
    );
    expect(mcp.tools.allow_outbound_network).toBe(false);
    expect(mcp.linux_ops.roots).toEqual({ allowed_roots: null, enforce_roots: true });
  });

  it("REQ-D4: the default root is the workspace and nothing else", () => {
    expect(buildConfig(new Map()).mcp.tools.allowed_roots).toEqual(["."]);
  });

  it("is frozen to the bottom and shares nothing with the defaults", () => {
    const config = buildConfig(new Map());
    const list = valueAt(config, "mcp.tools.allowed_roots");
    expect(Object.isFrozen(config.mcp.linux_ops.roots)).toBe(true);
    expect(Object.isFrozen(list)).toBe(true);
    expect(list).not.toBe(ENTRIES.get("mcp.tools.allowed_roots")?.option.default);
  });
});
