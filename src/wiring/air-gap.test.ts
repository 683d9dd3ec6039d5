import { describe, expect, it } from "vitest";
import { loadText } from "../../test/config-request.ts";
import { isAirGapped } from "../host/air-gap/is-air-gapped.ts";
import { airGapOf } from "./air-gap.ts";
import { refuseOutside } from "./refuse-outside.ts";

const ON = "[mcp.security]\nair_gapped_mode = true\n";
const gapOf = async (text: string, env = {}) =>
  airGapOf(await loadText(text, { configPath: "/etc/llmc.toml" }), env);

describe("REQ-I10 what is relayed into the air gap", () => {
  it("is nothing where it is off, and no server that is only a default of ours where it is on", async () => {
    expect(await gapOf("")).toBeUndefined();
    expect(await gapOf(ON)).toEqual({ backends: [] });
  });

  it.each([
    ["in use", 'agent_model = "ollama_chat/m"'],
    ["written down", 'ollama_url = "http://127.0.0.1:11434"'],
  ])("is the model server where it is %s", async (_, line) => {
    expect(await gapOf(`${ON}[mcp.llm]\n${line}\n`)).toEqual({
      backends: [{ host: "127.0.0.1", port: 11_434 }],
    });
  });

  it.each([
    ["agent", '[mcp.llm]\nagent_model = "ollama_chat/m"'],
    ["root", '[mcp.rlm]\nroot_model = "ollama_chat/m"'],
    ["sub", '[mcp.rlm]\nroot_model = "sampling/client"\nsub_model = "ollama/m"'],
    ["answers of knowledge bases", '[mcp.kb]\nanswer_model = "ollama_chat/m"'],
    ["summaries", '[mcp.rag]\nsummary_model = "ollama_chat/m"'],
  ])("is the server of every configured model: %s", async (_, text) => {
    expect(await gapOf(`${ON}${text}\n`)).toEqual({ backends: [{ host: "127.0.0.1", port: 11_434 }] });
    await expect(gapOf(`${ON}${text.replace(/ollama\w*/, "openai")}\n`)).rejects.toMatchObject({
      message: expect.stringContaining("mcp.llm.openai_url"),
    });
  });

  it("is every configured server on this machine, each once, with the port of its protocol", async () => {
    const gap = await gapOf(`${ON}
[mcp.llm]
ollama_url = "http://localhost:11434"
openai_url = "http://localhost:11434/v1"
anthropic_url = "https://[::1]/v1"
[mcp.limits]
state_url = "redis://127.0.0.2"
[mcp.observability]
otlp_endpoint = "http://127.0.0.1:4318/v1/traces"
[mcp.server]
invoke_socket = "/run/user/1/llmc/invoke.sock"
`);
    expect(gap).toEqual({
      backends: [
        { host: "localhost", port: 11_434 },
        { host: "[::1]", port: 443 },
        { host: "127.0.0.2", port: 6379 },
        { host: "127.0.0.1", port: 4318 },
      ],
      invokeSocket: "/run/user/1/llmc/invoke.sock",
    });
  });

  it.each([
    ["mcp.limits.state_url", '[mcp.limits]\nstate_url = "postgres://db.example/llmc"'],
    ["mcp.limits.state_url", '[mcp.limits]\nstate_url = "redis://127.0.0.1.example.com"'],
    [
      "mcp.observability.otlp_endpoint",
      '[mcp.observability]\notlp_endpoint = "http://192.0.2.1:4318/v1/traces"',
    ],
    ["mcp.llm.openai_url", '[mcp.llm]\nagent_model = "openai/gpt-5"'],
  ])("a server elsewhere that is in use stops the start: %s", async (key, text) => {
    await expect(gapOf(ON + text)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining(key),
    });
  });

  it("a database of knowledge bases is named by a variable", async () => {
    const text = `${ON}[mcp.kb]\nstore = "postgres"\nstore_url_env = "KB_URL"\n`;
    expect((await gapOf(text, { KB_URL: "postgres://u:p@localhost/kb" }))?.backends).toContainEqual({
      host: "localhost",
      port: 5432,
    });
    await expect(gapOf(text, { KB_URL: "postgres://u:p@db.example/kb" })).rejects.toThrow(
      "mcp.kb.store_url_env",
    );
  });

  it("a model elsewhere that nobody asks does not", async () => {
    expect(await gapOf(`${ON}[mcp.llm]\nollama_url = "http://192.0.2.1:11434"`)).toEqual({ backends: [] });
  });
});

it.runIf(!isAirGapped())("REQ-I10 nothing opens in a process that has a network", async () => {
  const loaded = await loadText(ON);
  expect(() => refuseOutside(loaded)).toThrow("this process has a network");
});
