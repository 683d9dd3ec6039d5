import { describe, expect, it } from "vitest";
import { configDocs } from "../../scripts/config-docs.ts";
import { configJsonSchema } from "../../scripts/config-json-schema.ts";
import { loadText } from "../../test/config-request.ts";
import { ENTRIES } from "./sections.ts";
import { describeConfig, toJson } from "./show.ts";
import { fullTemplate } from "./template.ts";

/** Of the document about isolation. */
const ISOLATION_KEYS = [
  "mcp.subprocess",
  "mcp.sandbox_enabled",
  "mcp.max_memory_mb",
  "mcp.max_concurrent_requests",
  "mcp.request_timeout_seconds",
  "mcp.security.air_gapped_mode",
  "mcp.security.default_deny",
  "mcp.security.escalation_prompts",
  "mcp.performance.cache_size_mb",
  "mcp.performance.connection_pool_size",
  "mcp.performance.circuit_breaker_threshold",
  "mcp.logging.level",
  "mcp.logging.structured_output",
  "mcp.logging.trace_propagation",
];

describe("REQ-D26: keys tell the truth", () => {
  it("every key of the document about isolation is shown, as in force", async () => {
    const shown = describeConfig(await loadText(undefined), { origin: true });
    for (const key of ISOLATION_KEYS) {
      expect(ENTRIES.has(key), key).toBe(true);
      expect(shown).toContain(key.split(".").at(-1));
    }
  });

  it.each([
    ['[mcp.docker]\ndata_volume = "/x"', "mcp.docker was removed, because"],
    ['mcp.te.script_path = "x"', "mcp.te.script_path was removed, because a program in the workspace"],
    ["mcp.te.json_mode = true", "mcp.te.json_mode was removed, because"],
  ])("a key that was removed is told with its reason: %s", async (text, why) => {
    expect((await loadText(text)).warnings).toEqual([expect.stringContaining(why)]);
  });

  it("an empty table of such keys is no reason not to start", async () => {
    expect((await loadText("[mcp.docker]\n")).warnings).toEqual([expect.stringContaining("llmc.toml:1")]);
  });

  it.each(["git:wriet", "git", ":run", "git:run:write"])(
    "REQ-D15: %s is no power, and the powers are listed",
    async (power) => {
      await expect(loadText(`[mcp.tools]\ncommand_powers = ["find:run", "${power}"]`)).rejects.toThrow(
        "llmc.toml:2: mcp.tools.command_powers: expected PROGRAM:POWER, where POWER is one of run, write, read, network, config",
      );
    },
  );

  it("every key is shown, wherever keys are", async () => {
    const loaded = await loadText("mcp.rlm.allow_path = false");
    expect(loaded.warnings).toEqual([]);
    const shown = [
      describeConfig(loaded, { origin: true }),
      JSON.stringify(toJson(loaded, { origin: false }).values),
      fullTemplate(),
      configDocs(),
      JSON.stringify(configJsonSchema()),
    ];
    for (const text of shown)
      for (const key of ["allow_path", "air_gapped_mode"]) expect(text).toContain(key);
  });

  it("~ is the home in every path, and only there", async () => {
    const { config } = await loadText(
      '[mcp.tools]\nallowed_roots = ["~/a", "~", "b~", "~c"]\ncustom_modules = "~/mods"\n[mcp.session]\ndefault_model = "~/x"\n',
      { configPath: "/etc/llmc.toml" },
    );
    expect(config.mcp.tools.allowed_roots).toEqual(["/home/nobody/a", "/home/nobody", "b~", "~c"]);
    expect(config.mcp.tools.custom_modules).toBe("/home/nobody/mods");
    expect(config.mcp.session.default_model).toBe("~/x");
    const env = { LLMC_MCP_OBSERVABILITY_CSV_PATH: "~/audit.csv" };
    expect((await loadText(undefined, { env })).config.mcp.observability.csv_path).toBe(
      "/home/nobody/audit.csv",
    );
    const paths = [...ENTRIES.values()].filter(({ option }) => option.path).map(({ key }) => key);
    expect(paths.map((key) => key.replace("mcp.", ""))).toEqual([
      "code_execution.native_packages",
      "tools.allowed_roots",
      "tools.run_cmd_allowlist",
      "tools.command_read_paths",
      "tools.git_directories",
      "tools.custom_modules",
      "tools.executables",
      "linux_ops.roots.allowed_roots",
      "server.tls_cert_file",
      "server.tls_key_file",
      "server.invoke_socket",
      "resources.sidecars",
      "rag.embedder_model",
      "kb.data_dir",
      "kb.flows",
      "rlm.cassette_file",
      "rlm.trace_dir",
      "observability.csv_path",
    ]);
  });

  it("REQ-D27: egress is to this machine only, unless somebody says otherwise", async () => {
    expect((await loadText(undefined)).config.mcp.rlm.profile).toBe("restricted");
  });
});
