import { expect, test } from "vitest";
import { openTestApp, TEST_CALLER } from "../../test/app.ts";
import { messagesOf, openaiAnswer, openModelServer, sendJson } from "../../test/model-server.ts";

test("REQ-R8 REQ-L2: with a model, snippets have a sentence about them: asked once, and never for a caller without egress", async () => {
  const server = await openModelServer((response, request) => {
    const text = messagesOf(request).at(-1)?.content ?? "";
    sendJson(
      response,
      openaiAnswer(text.includes("decode") ? "" : `It  encodes\nthings, in ${text.length} letters.`),
    );
  });
  const app = await openTestApp({
    config: `[mcp]\nmode = "classic"\n[mcp.llm]\nopenai_url = "${server.url}/v1"\nopenai_key_env = ""\n[mcp.rag]\nsummary_model = "openai/m"\n`,
    files: { "src/encode.ts": "export const encode = (text: string): string => btoa(text);\n" },
  });
  const query = { query: "encode", k: 1 };
  const reader = { ...TEST_CALLER, may: new Set(["read"]) };
  const plain = await app.ask("rag_search_enriched", query, { caller: reader });
  expect(plain.kind).toBe("ok");
  expect(JSON.stringify(plain)).not.toContain("summary");
  expect(server.connections()).toBe(0);
  const text = await app.text("rag_search_enriched", query);
  expect(text).toMatch(/\[summary: It encodes things, in \d+ letters\.\]/);
  expect(server.requests).toHaveLength(1);
  await app.text("rag_search_enriched", query);
  expect(server.requests).toHaveLength(1);
  const audit = await app.logs();
  expect(audit).not.toContain("btoa");
});

test("REQ-R8 REQ-L4: summaries cost no more than the operator's budget for one answer", async () => {
  const server = await openModelServer((response) => sendJson(response, openaiAnswer("A sentence.")));
  const ask = async (budget: string) => {
    const app = await openTestApp({
      config: `[mcp]\nmode = "classic"\n[mcp.llm]\nopenai_url = "${server.url}/v1"\nopenai_key_env = ""\nprices = ["openai/m=10/10"]\n[mcp.rag]\nsummary_model = "openai/m"\nsummary_budget_usd = ${budget}\n`,
      files: { "src/encode.ts": "export const encode = (text: string): string => btoa(text);\n" },
    });
    return app.text("rag_search_enriched", { query: "encode", k: 1 });
  };
  // 120 tokens of output alone could cost 0.0012 dollars.
  expect(await ask("0.001")).not.toContain("summary");
  expect(server.connections()).toBe(0);
  expect(await ask("0.05")).toContain("[summary: A sentence.]");
});

test("REQ-R8 REQ-L4: summaries make no more calls than an analysis may", async () => {
  const server = await openModelServer((response) => sendJson(response, openaiAnswer("A sentence.")));
  const app = await openTestApp({
    config: `[mcp]\nmode = "classic"\n[mcp.llm]\nopenai_url = "${server.url}/v1"\nopenai_key_env = ""\n[mcp.rlm]\nmax_calls = 1\n[mcp.rag]\nsummary_model = "openai/m"\n`,
    files: {
      "src/encode.ts": "export const encode = (text: string): string => btoa(text);\n",
      "src/encode-all.ts":
        "export const encodeAll = (texts: readonly string[]): readonly string[] => texts.map((text) => btoa(text));\n",
    },
  });
  const text = await app.text("rag_search_enriched", { query: "encode", k: 2 });
  expect(text).toContain("encodeAll");
  expect(text.match(/\[summary: /g)).toHaveLength(1);
  expect(server.requests).toHaveLength(1);
});
