import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../../test/app.ts";
import { loadTrusted } from "../../test/config-request.ts";
import { toJson } from "../config/show.ts";
import { createDisk } from "../host/own-files/disk.ts";

const KEY = "sk-this-is-the-key-that-nobody-may-see";

const load = (llm: string, env: Readonly<Record<string, string>> = {}) =>
  loadTrusted({ disk: createDisk(), env, root: tempWorkspace({ "llmc.toml": `[mcp.llm]\n${llm}\n` }) });

describe("the configuration of models", () => {
  test.each([
    `anthropic_key_env = "${KEY}"`,
    `openai_url = "https://user:${KEY}@models.example/v1"`,
    `openai_url = "https://models.example/v1?key=${KEY}"`,
    `openai_url = "https://${KEY}@models.example"`,
    `ollama_url = "127.0.0.1:11434"`,
    `ollama_url = "http:\\\\\\\\${KEY}@evil"`,
    `agent_model = "${KEY}"`,
    'agent_model = "gpt-4o"',
    'agent_model = "gemini/../x"',
    "max_output_tokens = 0",
  ])("REQ-C4 REQ-L6: %s is refused by its key, and not repeated", async (llm) => {
    const failure: unknown = await load(llm).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "config_invalid" });
    expect(String(failure)).toContain(`mcp.llm.${llm.split(" ", 1)[0]}`);
    expect(String(failure)).not.toContain(KEY);
  });

  test("REQ-L9: names of all providers are taken, and no model is the default", async () => {
    expect((await load("")).config.mcp.llm.agent_model).toBe("");
    for (const name of [
      "ollama_chat/qwen3:8b",
      "ollama/hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M",
      "openai/meta-llama/Llama-3.1-8B-Instruct",
      "anthropic/claude-sonnet-4-5",
      "gemini/gemini-2.5-flash",
    ]) {
      expect((await load(`agent_model = "${name}"`)).config.mcp.llm.agent_model).toBe(name);
    }
  });

  test("REQ-C3 REQ-L6: a key stays in its variable, which may have any name", async () => {
    const loaded = await load('openai_key_env = "LLMC_MCP_MY_KEY"', { LLMC_MCP_MY_KEY: KEY });
    expect(loaded.config.mcp.llm.openai_key_env).toBe("LLMC_MCP_MY_KEY");
    expect(JSON.stringify(toJson(loaded, { origin: true }))).not.toContain(KEY);
    await expect(load("", { LLMC_MCP_MY_KEY: KEY })).rejects.toMatchObject({ code: "config_invalid" });
  });
});
