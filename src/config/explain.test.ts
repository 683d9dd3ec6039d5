import { describe, expect, it } from "vitest";
import { loadText } from "../../test/config-request.ts";
import { LlmcError } from "../base/error.ts";
import { explainAsJson, explainKey } from "./explain.ts";
import { TABLES } from "./sections.ts";

const load = (text: string) => loadText(text);

describe("REQ-C6: explaining a key", () => {
  it("says everything about it", async () => {
    expect(explainKey("mcp.server.port", await load("mcp.server.port = 9"))).toBe(
      [
        "mcp.server.port",
        "  Port to listen on; 0 picks a free one.",
        "",
        "  type      a whole number from 0 to 65535",
        "  default   8080",
        "  now       9 (llmc.toml:1)",
        "  variable  LLMC_MCP_SERVER_PORT",
        "  flag      --set mcp.server.port=VALUE",
        "  changes   wait for the next start",
        "",
      ].join("\n"),
    );
  });

  it("says when it is hot or left out", async () => {
    const loaded = await load("");
    const text = explainKey("mcp.linux_ops.roots.allowed_roots", loaded);
    expect(text).toContain("default   left out");
    expect(explainKey("mcp.tools.text_format", loaded)).toContain("changes   take effect at once");
  });

  it("shows no password of an address", async () => {
    const loaded = await load('mcp.observability.otlp_endpoint = "http://u:p4ss@h"');
    expect(explainKey("mcp.observability.otlp_endpoint", loaded)).toContain("http://***@h");
    expect(explainKey("mcp.observability", loaded)).not.toContain("p4ss");
  });

  it("explains a table by its keys", async () => {
    const loaded = await load("mcp.tools.read_timeout = 4");
    const text = explainKey("mcp.tools", loaded);
    expect(text).toContain("read_timeout = 4\n    Timeout of a file or search operation, in seconds.");
    for (const { path, entries } of TABLES) {
      for (const { name } of entries) expect(explainKey(path, loaded)).toContain(`  ${name} = `);
    }
    expect(explainKey("mcp.linux_ops", loaded)).toContain("Tables inside: mcp.linux_ops.roots");
  });

  it("explains a key without a configuration, which a broken file cannot give", () => {
    expect(explainKey("mcp.server.port", undefined)).toContain("now       unknown, because");
    expect(explainKey("mcp.server", undefined)).toContain("port = 8080");
    expect(explainAsJson("mcp.server.port", undefined)).toMatchObject([{ default: 8080, now: null }]);
    expect(() => explainAsJson("mcp.nothing", undefined)).toThrow(LlmcError);
  });

  it.each([
    ["mcp.tools.run_cmd_allow_list", 'did you mean "mcp.tools.run_cmd_allowlist"?'],
    ["port", 'did you mean "mcp.server.port"?'],
    ["tools", 'did you mean "mcp.tools"?'],
    ["mcp.toolz", 'did you mean "mcp.tools"?'],
    ["mcp.tool", 'did you mean "mcp.tools"?'],
    ["mcp.linux_opps", 'unknown key "mcp.linux_opps"'],
  ])("REQ-C4: names the nearest for %s", async (name, text) => {
    const loaded = await load("");
    const explaining = () => explainKey(name, loaded);
    expect(explaining).toThrow(LlmcError);
    expect(explaining).toThrow(text);
  });
});
