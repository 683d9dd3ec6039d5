import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadTrusted } from "../../test/config-request.ts";
import { LlmcError } from "../base/error.ts";
import { createDisk } from "../host/own-files/disk.ts";
import type { LoadRequest } from "./load-request.ts";

let root = "";
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "llmc-config-")));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const write = (text: string, name = "llmc.toml") => writeFile(join(root, name), text);
const load = (request: Partial<LoadRequest> = {}) =>
  loadTrusted({ disk: createDisk(), env: {}, root, overrides: {}, ...request });
const refusal = async (request: Partial<LoadRequest> = {}): Promise<LlmcError> => {
  const error = await load(request).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof LlmcError) return error;
  throw new Error("The load did not fail as it should.", { cause: error });
};

describe("REQ-C2: precedence", () => {
  const KEY = "mcp.server.port";
  const VARIABLE = { LLMC_MCP_SERVER_PORT: "3" };

  it("a default, when nobody says otherwise", async () => {
    const loaded = await load();
    expect(loaded.config.mcp.server.port).toBe(8080);
    expect(loaded.origins.get(KEY)).toEqual({ source: "default", detail: "" });
    expect(loaded.file).toBeUndefined();
    expect(loaded.lookedAt).toBe(join(root, "llmc.toml"));
  });

  it("the file over the default", async () => {
    await write("# first\n[mcp.server]\nport = 2\n");
    const loaded = await load();
    expect(loaded.config.mcp.server.port).toBe(2);
    expect(loaded.origins.get(KEY)).toEqual({ source: "file", detail: "llmc.toml:3" });
    expect(loaded.file).toBe(join(root, "llmc.toml"));
  });

  it("the environment over the file", async () => {
    await write("mcp.server.port = 2");
    const loaded = await load({ env: VARIABLE });
    expect(loaded.config.mcp.server.port).toBe(3);
    expect(loaded.origins.get(KEY)).toEqual({ source: "env", detail: "LLMC_MCP_SERVER_PORT" });
  });

  it("the command line over the environment, as text or typed", async () => {
    await write("mcp.server.port = 2");
    const loaded = await load({ env: VARIABLE, overrides: { [KEY]: "4" } });
    expect(loaded.config.mcp.server.port).toBe(4);
    expect(loaded.origins.get(KEY)).toEqual({ source: "cli", detail: "--set" });
    const typed = await load({ env: VARIABLE, overrides: { [KEY]: { flag: "--port", value: 5 } } });
    expect(typed.config.mcp.server.port).toBe(5);
    expect(typed.origins.get(KEY)).toEqual({ source: "cli", detail: "--port" });
  });

  it("a bad value of a lower level is still an error", async () => {
    await write('mcp.server.port = "x"');
    expect((await refusal({ overrides: { [KEY]: 4 } })).message).toContain("llmc.toml:1: mcp.server.port");
  });

  it("every key has an origin", async () => {
    const { origins } = await load();
    expect([...origins.values()].every(({ source }) => source === "default")).toBe(true);
    expect(origins.size).toBeGreaterThan(80);
  });

  it("lines can be left away", async () => {
    await write("mcp.server.port = 2");
    expect((await load({ lines: false })).origins.get(KEY)?.detail).toBe("llmc.toml");
  });
});

describe("which file", () => {
  it("a named file, relative to the root, instead of llmc.toml", async () => {
    await write("mcp.server.port = 1");
    await mkdir(join(root, "etc"));
    await write("mcp.server.port = 2", "etc/own.toml");
    const loaded = await load({ configPath: "etc/own.toml" });
    expect(loaded.config.mcp.server.port).toBe(2);
    expect(loaded.origins.get("mcp.server.port")?.detail).toBe("etc/own.toml:1");
  });

  it("a named file that is missing is an error that names it", async () => {
    const error = await refusal({ configPath: "own.toml" });
    expect(error.code).toBe("config_invalid");
    expect(error.message).toBe("own.toml: there is no such config file");
  });

  it("a file outside the root is named in full", async () => {
    expect((await refusal({ configPath: "/nowhere/own.toml" })).message).toMatch(/^\/nowhere\/own\.toml: /);
  });

  it("something there that cannot be read is an error, not an absence", async () => {
    await mkdir(join(root, "llmc.toml"));
    const error = await refusal();
    expect(error.code).toBe("config_invalid");
    expect(error.message).toBe("llmc.toml: the config file cannot be read (EISDIR)");
  });

  it("a byte order mark and Windows line ends do no harm", async () => {
    await write("\uFEFF[mcp]\r\nmode = 'hybrid'\r\n");
    expect((await load()).origins.get("mcp.mode")?.detail).toBe("llmc.toml:2");
  });
});

describe("REQ-D5: a mode that nobody named", () => {
  const MODE = "mcp.mode";

  it("no file means hybrid", async () => {
    const { config, origins } = await load();
    expect(config.mcp.mode).toBe("hybrid");
    expect(origins.get(MODE)).toEqual({ source: "default", detail: "no config file means hybrid" });
  });

  it.each(["", "[mcp.server]\nport = 1\n"])("a file without a mode means classic: %j", async (text) => {
    await write(text);
    const { config, origins } = await load();
    expect(config.mcp.mode).toBe("classic");
    expect(origins.get(MODE)).toEqual({
      source: "default",
      detail: "a config file that names no mode means classic",
    });
  });

  it("such a file with code execution enabled means code_execution", async () => {
    await write("[mcp.code_execution]\nenabled = true\n");
    const { config, origins } = await load();
    expect(config.mcp.mode).toBe("code_execution");
    expect(origins.get(MODE)?.source).toBe("default");
  });

  it("a named mode wins over that switch, and a warning says so", async () => {
    await write('mcp = { mode = "hybrid", code_execution = { enabled = true } }');
    const { config, warnings } = await load();
    expect(config.mcp.mode).toBe("hybrid");
    expect(warnings).toEqual(["mcp.code_execution.enabled has no effect: the mode is set to hybrid"]);
  });

  it("the environment and the command line win as usual", async () => {
    await write("");
    const env = { LLMC_MCP_MODE: "hybrid" };
    expect((await load({ env })).config.mcp.mode).toBe("hybrid");
    expect((await load({ env, overrides: { [MODE]: "code_execution" } })).config.mcp.mode).toBe(
      "code_execution",
    );
  });
});

describe("the environment", () => {
  const FLAG = "mcp.tools.kill_foreign_processes";
  it.each([
    ["true", true],
    ["1", true],
    ["yes", true],
    ["ON", true],
    ["false", false],
    ["0", false],
    ["no", false],
    ["Off", false],
  ])("reads the flag %j", async (text, value) => {
    const { config } = await load({ env: { LLMC_MCP_TOOLS_KILL_FOREIGN_PROCESSES: text } });
    expect(config.mcp.tools.kill_foreign_processes).toBe(value);
    const { config: set } = await load({ overrides: { [FLAG]: text } });
    expect(set.mcp.tools.kill_foreign_processes).toBe(value);
  });

  it.each([
    ["a,b", ["a", "b"]],
    [" a , b c ,", ["a", "b c"]],
    ['["a,b", "c"]', ["a,b", "c"]],
    ["/", ["/"]],
    ["", []],
    ["[]", []],
  ])("reads the list %j", async (text, value) => {
    const { config } = await load({ env: { LLMC_MCP_TOOLS_ALLOWED_ROOTS: text } });
    expect(config.mcp.tools.allowed_roots).toEqual(value);
  });

  it("reads a list that is left out by default", async () => {
    const { config } = await load({ env: { LLMC_MCP_LINUX_OPS_ROOTS_ALLOWED_ROOTS: "" } });
    expect(config.mcp.linux_ops.roots.allowed_roots).toEqual([]);
  });

  it("takes strings as they are", async () => {
    const { config } = await load({ env: { LLMC_MCP_SESSION_DEFAULT_MODEL: " a, [b" } });
    expect(config.mcp.session.default_model).toBe(" a, [b");
  });

  it.each([
    ["LLMC_MCP_SERVER_PORT", "80a", "expected a whole number from 0 to 65535, got other text"],
    ["LLMC_MCP_SERVER_PORT", "", "expected a whole number from 0 to 65535, got other text"],
    ["LLMC_MCP_SERVER_PORT", "70000", "expected a whole number from 0 to 65535, got 70000"],
    ["LLMC_MCP_ENABLED", "maybe", "expected true or false, got other text"],
    [
      "LLMC_MCP_AUTH_MODE",
      "tokn",
      'expected one of "token", "none", got another string; did you mean "token"?',
    ],
    ["LLMC_MCP_HYBRID_PROMOTED_TOOLS", "[a", "expected a list of strings, got a broken JSON array"],
    [
      "LLMC_MCP_HYBRID_PROMOTED_TOOLS",
      '["a", 1]',
      "expected a list of strings, got a whole number as item 2",
    ],
  ])("REQ-C4: refuses %s=%j", async (variable, text, complaint) => {
    const { message } = await refusal({ env: { [variable]: text } });
    expect(message).toMatch(new RegExp(`^${variable}: mcp\\.[a-z_.]+: `));
    expect(message).toContain(complaint);
  });

  it("REQ-C4: an unknown variable of ours is an error with the nearest one", async () => {
    const { message } = await refusal({ env: { LLMC_MCP_TOOLS_ALLOWED_ROOT: "secret-value" } });
    expect(message).toBe(
      'environment: unknown variable "LLMC_MCP_TOOLS_ALLOWED_ROOT"; did you mean "LLMC_MCP_TOOLS_ALLOWED_ROOTS"?',
    );
  });

  it("the token's variable is known, under the name that the config gives it", async () => {
    await load({ env: { LLMC_MCP_TOKEN: "s3cret" } });
    await write('mcp.auth.token_env = "LLMC_MCP_MY_TOKEN"');
    await load({ env: { LLMC_MCP_MY_TOKEN: "s3cret" } });
    // What a workspace's file says may wait for trust: it makes no other variable unknown.
    await load({ env: { LLMC_MCP_TOKEN: "s3cret" } });
    const { message } = await refusal({
      env: { LLMC_MCP_TOKEN: "s3cret", LLMC_MCP_AUTH_TOKEN_ENV: "LLMC_MCP_MY_TOKEN" },
    });
    expect(message).toContain('unknown variable "LLMC_MCP_TOKEN"; did you mean "LLMC_MCP_MY_TOKEN"?');
    expect(message).not.toContain("s3cret");
  });

  it("REQ-H2: so are the variables of further tokens", async () => {
    await write('[mcp.auth]\ntokens = ["ci read env:LLMC_MCP_CI_SECRET"]\n');
    expect((await load({ env: { LLMC_MCP_CI_SECRET: "x" } })).config.mcp.auth.tokens).toHaveLength(1);
    await expect(load({ env: { LLMC_MCP_OTHER_SECRET: "x" } })).rejects.toThrow("LLMC_MCP_OTHER_SECRET");
  });

  it("REQ-H2: a secret in the file itself is refused, and not shown", async () => {
    await write('[mcp.auth]\ntokens = ["ci read env:A", "ci read hunter2hunter2"]\n');
    const refused = load({});
    await expect(refused).rejects.toThrow(
      'llmc.toml:2: mcp.auth.tokens: expected "NAME SCOPE,SCOPE env:VARIABLE"',
    );
    await expect(refused).rejects.not.toThrow("hunter2");
  });

  it("a broken file does not make the token's variable unknown", async () => {
    await write('mcp.auth.token_env = "LLMC_MCP_MY_TOKEN"\n[');
    expect((await refusal({ env: { LLMC_MCP_MY_TOKEN: "x" } })).message).not.toContain("unknown variable");
  });

  it("other LLMC_ variables are not ours", async () => {
    const env = { LLMC_ROOT: "/x", LLMC_CONFIG: "y", LLMC_ISOLATED: "1", LLMC_MCP_ENABLED: undefined };
    expect((await load({ env })).config.mcp.enabled).toBe(true);
  });
});

describe("the command line", () => {
  it("REQ-C4: refuses an unknown key and names the nearest", async () => {
    expect((await refusal({ overrides: { "mcp.mod": "x" } })).message).toBe(
      '--set: unknown key "mcp.mod"; did you mean "mcp.mode"?',
    );
  });

  it("REQ-C4: refuses a bad value under the flag's own name", async () => {
    const { message } = await refusal({ overrides: { "mcp.mode": { flag: "--mode", value: "fast" } } });
    expect(message).toBe(
      '--mode: mcp.mode: expected one of "classic", "hybrid", "code_execution", got another string',
    );
  });
});

describe("a misspelt restriction", () => {
  it("FAIL-C7: run_cmd_allow_list fails the load and names the right key", async () => {
    await write('[mcp]\nmode = "hybrid"\n\n[mcp.tools]\nrun_cmd_allow_list = ["ls"]\n');
    const error = await refusal();
    expect(error.code).toBe("config_invalid");
    expect(error.message).toBe(
      'llmc.toml:5: unknown key "mcp.tools.run_cmd_allow_list"; did you mean "mcp.tools.run_cmd_allowlist"?',
    );
  });
});
