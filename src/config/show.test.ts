import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadText } from "../../test/config-request.ts";
import type { Kind, Option } from "../base/option.ts";
import type { Loaded } from "./load.ts";
import type { LoadRequest } from "./load-request.ts";
import { logSettings } from "./log-settings.ts";
import { buildConfig, TABLES } from "./sections.ts";
import { describeConfig, toJson } from "./show.ts";

const load = (text: string | undefined, request: Partial<LoadRequest> = {}) => loadText(text, request);
const plain = (loaded: Loaded) => describeConfig(loaded, { origin: false });

const anyText = fc.string({ unit: "binary" }).filter((text) => !text.includes("@"));
const ofKind = (kind: Kind): fc.Arbitrary<unknown> => {
  switch (kind.is) {
    case "flag":
      return fc.boolean();
    case "whole":
      return fc.integer({ min: kind.min, max: kind.max });
    case "decimal":
      return fc.double({ min: kind.min, max: kind.max, noNaN: true });
    case "choice":
      return fc.constantFrom(...kind.values);
    case "text":
      return anyText;
    case "list":
      return fc.array(anyText, { maxLength: 8 });
  }
};
const valid = (option: Option) => {
  // A text, or list of texts, with a shape of its own: its default is the one that is known to fit.
  const { kind } = option;
  const isFree = !("shape" in kind) || kind.shape === undefined;
  const values = isFree ? ofKind(kind) : fc.constant(option.default);
  return option.default === null ? fc.option(values) : values;
};
const anyValues = fc.record(
  Object.fromEntries(TABLES.flatMap(({ entries }) => entries).map(({ key, option }) => [key, valid(option)])),
  { requiredKeys: [] },
);

describe("REQ-O2: the format of log lines", () => {
  it.each([
    ["", true, "text"],
    ["", false, "json"],
    ['observability = { log_format = "json" }', true, "json"],
    ["logging = { structured_output = true }", true, "json"],
    ["logging = { structured_output = false }", false, "text"],
  ])("%s, at a terminal: %s, is %s", async (text, atTerminal, format) => {
    expect(logSettings(await load(`[mcp]\n${text}`), atTerminal).format).toBe(format);
  });
});

describe("REQ-C3: the effective configuration", () => {
  it("REQ-D15: says which programs of the default a list leaves out", async () => {
    const origins = (loaded: Loaded) => describeConfig(loaded, { origin: true });
    expect(origins(await load(undefined))).not.toContain("replaces the default");
    const listed = await load('[mcp.tools]\nrun_cmd_allowlist = ["ls", "cat", "npm"]\n');
    expect(origins(listed)).toMatch(
      /# llmc\.toml:2.*; replaces the default, without head, tail, wc, .*pytest/,
    );
  });

  it("says where each value came from", async () => {
    const loaded = await load("[mcp.server]\nport = 1\n", {
      env: { LLMC_MCP_RAG_TOP_K: "5" },
      overrides: { "mcp.logging.level": { flag: "--log-level", value: "warn" } },
    });
    const lines = describeConfig(loaded, { origin: true }).replaceAll(/ +/g, " ").split("\n");
    expect(lines).toContain("port = 1 # llmc.toml:2");
    expect(lines).toContain("top_k = 5 # env: LLMC_MCP_RAG_TOP_K");
    expect(lines).toContain('level = "warn" # cli: --log-level');
    expect(lines).toContain('mode = "classic" # default: a config file that names no mode means classic');
    expect(lines).toContain("# allowed_roots is left out # default");
  });

  it.each([
    ["http://user:pass@host:4318/v1", "http://***@host:4318/v1"],
    ["https://t0ken@host", "https://***@host"],
    ["http://user:p@ss/w rd@host", "http://***@host"],
    [
      "postgres://h/db?user=u&password=hunter2&sslmode=disable",
      "postgres://h/db?user=u&password=***&sslmode=disable",
    ],
    ["postgres://u:p@h/db?PASSWORD=hunter2#x", "postgres://***@h/db?PASSWORD=***#x"],
    ["postgres://h/db?pass%77ord=hunter2", "postgres://h/db?pass%77ord=***"],
    ["http://host/v1", "http://host/v1"],
  ])("shows no password of an address: %s", async (address, shown) => {
    const loaded = await load(undefined, { overrides: { "mcp.observability.otlp_endpoint": address } });
    for (const origin of [true, false]) {
      expect(describeConfig(loaded, { origin })).toContain(`= "${shown}"`);
      expect(toJson(loaded, { origin }).values["mcp.observability.otlp_endpoint"]).toBe(shown);
    }
  });

  it("never holds the token, only its variable's name", async () => {
    const loaded = await load(undefined, { env: { LLMC_MCP_TOKEN: "s3cret" } });
    const shown = describeConfig(loaded, { origin: true }) + JSON.stringify(toJson(loaded, { origin: true }));
    expect(shown).toContain("LLMC_MCP_TOKEN");
    expect(shown).not.toContain("s3cret");
  });

  it("is JSON for programs, with origins on request", async () => {
    const loaded = await load("mcp.server.port = 1");
    expect(toJson(loaded, { origin: false })).not.toHaveProperty("origins");
    const json = JSON.parse(JSON.stringify(toJson(loaded, { origin: true })));
    expect(json.file).toBe("/w/llmc.toml");
    expect(json.values["mcp.server.port"]).toBe(1);
    expect(json.values["mcp.linux_ops.roots.allowed_roots"]).toBeNull();
    expect(json.origins["mcp.server.port"]).toEqual({ source: "file", detail: "llmc.toml:1" });
  });

  it("puts no control character on the terminal", async () => {
    const loaded = await load(undefined, {
      overrides: { "mcp.session.default_model": "a\u001b[2J\u009b1m" },
    });
    expect(plain(loaded)).toContain('"a\\u001b[2J\\u009b1m"');
  });
});

/** The operator's own file, of which all is in force as it is written. */
const OPERATORS = { lines: false, configPath: "/etc/llmc.toml" };

describe("REQ-C3: what is shown can be saved as llmc.toml", () => {
  it.each([undefined, "", '[mcp]\nmode = "code_execution"\n[mcp.tools]\nallowed_roots = []\n'])(
    "and loads to the same config: %j",
    async (text) => {
      const loaded = await load(text);
      for (const origin of [true, false]) {
        expect((await load(describeConfig(loaded, { origin }))).config).toEqual(loaded.config);
      }
    },
  );

  it("and logs as before: a logging key that was not set does not come to win", async () => {
    const loaded = await load('[mcp.observability]\nlog_level = "debug"\nlog_format = "text"\n');
    expect(logSettings(loaded)).toEqual({ level: "debug", format: "text" });
    expect(logSettings(await load(plain(loaded)))).toEqual({ level: "debug", format: "text" });
  });

  it("for any valid values", async () => {
    await fc.assert(
      fc.asyncProperty(anyValues, async (values) => {
        const set = new Map(Object.entries(values));
        const origins = new Map(
          [...set.keys()].map((key) => [key, { source: "cli", detail: "--set" }] as const),
        );
        const config = buildConfig(set);
        const shown: Loaded = {
          config,
          origins,
          file: undefined,
          lookedAt: "",
          alsoFrom: [],
          identities: [],
          waiting: [],
          workspaceFile: undefined,
          digests: {},
          warnings: [],
        };
        expect((await load(plain(shown), OPERATORS)).config).toEqual(config);
        expect((await load(describeConfig(shown, { origin: true }), OPERATORS)).config).toEqual(config);
      }),
    );
  });
});

describe("the log's two names", () => {
  it.each([
    ["", "info", "json"],
    ['observability = { log_level = "warn", log_format = "text" }', "warn", "text"],
    ['logging = { level = "error", structured_output = false }', "error", "text"],
    [
      'observability = { log_level = "warn", log_format = "text" }\nlogging = { level = "info", structured_output = true }',
      "info",
      "json",
    ],
    ['observability = { enabled = false, log_level = "debug" }', "error", "json"],
    ['observability = { enabled = false, log_level = "silent" }', "silent", "json"],
  ])("REQ-C1: %s", async (text, level, format) => {
    expect(logSettings(await load(`[mcp]\n${text}`))).toEqual({ level, format });
  });
});
