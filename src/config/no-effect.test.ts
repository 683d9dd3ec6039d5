import { describe, expect, it } from "vitest";
import { configDocs } from "../../scripts/config-docs.ts";
import { configJsonSchema } from "../../scripts/config-json-schema.ts";
import { loadText } from "../../test/config-request.ts";
import { ENTRIES } from "./sections.ts";
import { describeConfig, toJson } from "./show.ts";
import { fullTemplate } from "./template.ts";

const NO_EFFECT = ["mcp.security.air_gapped_mode"];

const entryOf = (key: string) => {
  const entry = ENTRIES.get(key);
  if (entry === undefined) throw new Error(`there is no ${key}`);
  return entry;
};

describe("REQ-D26: keys tell the truth", () => {
  it("the security keys without effect are these", () => {
    expect([...ENTRIES.values()].filter(({ option }) => option.noEffect).map(({ key }) => key)).toEqual(
      NO_EFFECT,
    );
  });

  it.each(NO_EFFECT)("%s, written out anywhere, stops the start", async (key) => {
    const { option, variable } = entryOf(key);
    const value = String(option.default);
    const why = "has no effect in this version; remove it";
    await expect(loadText(`${key} = ${value}`)).rejects.toThrow(`llmc.toml:1: ${key}: ${why}`);
    await expect(loadText(undefined, { env: { [variable]: value } })).rejects.toThrow(
      `${variable}: ${key}: ${why}`,
    );
    await expect(loadText(undefined, { overrides: { [key]: value } })).rejects.toThrow(
      `--set: ${key}: ${why}`,
    );
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

  it("keys of what is still to come are accepted, warned about, and not shown", async () => {
    const loaded = await loadText("mcp.rlm.allow_path = false");
    expect(loaded.warnings).toEqual(["set, but not in force yet: mcp.rlm.allow_path"]);
    const shown = [
      describeConfig(loaded, { origin: true }),
      JSON.stringify(toJson(loaded, { origin: false }).values),
      fullTemplate(),
      configDocs(),
      JSON.stringify(configJsonSchema()),
    ];
    const hidden = [...ENTRIES.values()].filter(({ option }) => option.planned || option.noEffect);
    expect(hidden.length).toBeGreaterThan(5);
    for (const text of shown) {
      for (const name of ["allow_path", "air_gapped_mode"]) expect(text).not.toContain(name);
    }
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
      "tools.allowed_roots",
      "tools.run_cmd_allowlist",
      "tools.command_read_paths",
      "tools.custom_modules",
      "linux_ops.roots.allowed_roots",
      "server.tls_cert_file",
      "server.tls_key_file",
      "resources.sidecars",
      "rag.embedder_model",
      "observability.csv_path",
    ]);
  });

  it("REQ-D27: egress is to this machine only, unless somebody says otherwise", async () => {
    expect((await loadText(undefined)).config.mcp.rlm.profile).toBe("restricted");
  });
});
