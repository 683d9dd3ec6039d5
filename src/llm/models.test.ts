import { describe, expect, test } from "vitest";
import {
  anthropicAnswer,
  googleAnswer,
  type ModelServer,
  messagesOf,
  openaiAnswer,
  openaiChunks,
  openModelServer,
  sendChunks,
  sendJson,
} from "../../test/model-server.ts";
import type { GenerateRequest, Model } from "./contract.ts";
import { createModels, type ModelSettings } from "./models.ts";
import { priceOf } from "./prices.ts";

const KEY = "sk-this-is-the-key-that-nobody-may-see";

const settingsFor = (url: string, more: Partial<ModelSettings> = {}): ModelSettings => ({
  profile: "unrestricted",
  allowedModelPrefixes: [],
  providers: {
    ollama: { url, keyVariable: "" },
    openai: { url, keyVariable: "OPENAI_API_KEY" },
    anthropic: { url, keyVariable: "ANTHROPIC_API_KEY" },
    google: { url, keyVariable: "GEMINI_API_KEY" },
  },
  ...more,
});

const open = (name: string, settings: ModelSettings, key: string | undefined = KEY): Promise<Model> =>
  createModels({ settings: () => settings, secret: () => key }).open(name, () => {});

const REQUEST: GenerateRequest = {
  messages: [
    { role: "system", text: "be kind" },
    { role: "user", text: "hello" },
    { role: "assistant", text: "yes?" },
    { role: "user", text: "the question" },
  ],
  maxOutputTokens: 123,
  timeoutMs: 10_000,
};

const ask = async (server: ModelServer, name: string, more: Partial<GenerateRequest> = {}) =>
  (await open(name, settingsFor(server.url))).generate({ ...REQUEST, ...more });

describe("the models", () => {
  test.each(["ollama_chat/qwen3:8b", "ollama/qwen3:8b"])(
    "REQ-L9: %s is asked at Ollama's own address, without a key, and costs nothing here",
    async (name) => {
      const server = await openModelServer((response) => sendJson(response, openaiAnswer("an answer")));
      expect(await ask(server, name)).toEqual({
        text: "an answer",
        finish: "stop",
        usage: { inputTokens: 11, outputTokens: 7, cacheReadTokens: 0, cacheWriteTokens: undefined },
        costUsd: 0,
        uncachedUsd: 0,
      });
      const [request] = server.requests;
      expect(request).toMatchObject({
        path: "/v1/chat/completions",
        body: {
          model: "qwen3:8b",
          max_tokens: 123,
          messages: [{ role: "system", content: "be kind" }, {}, {}, {}],
        },
      });
      expect(request?.headers.authorization).toBeUndefined();
      expect(request?.headers["accept-encoding"]).toBe("identity");
    },
  );

  test("REQ-L9: an OpenAI-compatible server gets the key and the model's whole name; an unknown price stays unknown", async () => {
    const server = await openModelServer((response) => sendJson(response, openaiAnswer("ok", "length")));
    const model = await open("openai/meta-llama/Llama-3.1-8B", settingsFor(`${server.url}/v1`));
    expect(await model.generate({ ...REQUEST, temperature: 0 })).toMatchObject({
      text: "ok",
      finish: "length",
      costUsd: undefined,
    });
    expect(server.requests[0]).toMatchObject({
      path: "/v1/chat/completions",
      headers: { authorization: `Bearer ${KEY}` },
      body: { model: "meta-llama/Llama-3.1-8B", temperature: 0 },
    });
  });

  test("REQ-L9: Anthropic and Google are asked in their own languages, with prices of the list", async () => {
    const anthropic = await openModelServer((response) => sendJson(response, anthropicAnswer("from A")));
    const a = await ask(anthropic, "anthropic/claude-sonnet-4-5");
    expect(a).toMatchObject({
      text: "from A",
      finish: "stop",
      usage: { inputTokens: 1000, outputTokens: 100 },
    });
    // 3 and 15 dollars a million.
    expect(a.costUsd).toBeCloseTo(0.0045, 6);
    expect(anthropic.requests[0]).toMatchObject({
      path: "/messages",
      headers: { "x-api-key": KEY },
      body: { model: "claude-sonnet-4-5", max_tokens: 123, system: [{ text: "be kind" }] },
    });

    const google = await openModelServer((response) => sendJson(response, googleAnswer("from G")));
    const g = await ask(google, "gemini/gemini-2.5-flash");
    expect(g).toMatchObject({
      text: "from G",
      finish: "stop",
      usage: { inputTokens: 1000, outputTokens: 100 },
    });
    expect(g.costUsd).toBeCloseTo(0.00055, 6);
    expect(google.requests[0]).toMatchObject({
      path: "/models/gemini-2.5-flash:generateContent",
      headers: { "x-goog-api-key": KEY },
      body: { generationConfig: { maxOutputTokens: 123 } },
    });
    expect(google.requests[0]?.path).not.toContain(KEY);
  });

  test("REQ-L4: a conversation that goes on is marked for Anthropic's cache, and what the cache saved is counted", async () => {
    const usage = {
      input_tokens: 100,
      output_tokens: 10,
      cache_read_input_tokens: 900,
      cache_creation_input_tokens: 0,
    };
    const server = await openModelServer((response) =>
      sendJson(response, { ...anthropicAnswer("ok"), usage }),
    );
    const answer = await ask(server, "anthropic/claude-sonnet-4-5", { cachePrompt: true });
    expect(answer.usage).toMatchObject({ inputTokens: 1000, cacheReadTokens: 900 });
    expect(answer.costUsd).toBeLessThan(answer.uncachedUsd ?? 0);
    const sent = JSON.stringify(server.requests[0]?.body);
    expect(sent.match(/"cache_control":\{"type":"ephemeral"\}/g)).toHaveLength(2);
    await ask(server, "anthropic/claude-sonnet-4-5");
    expect(JSON.stringify(server.requests[1]?.body)).not.toContain("cache_control");
    const model = await open("anthropic/claude-sonnet-4-5", settingsFor(server.url));
    // Writing the input to the cache costs more than sending it.
    expect(await model.worstCostUsd(1_000_000, 0)).toBeGreaterThan(3.5);
  });

  test("REQ-L9: the price of a usage; a model that is on no list has none", async () => {
    const million = { inputTokens: 1_000_000, outputTokens: 0 };
    const baseUrl = "https://api.openai.com/v1";
    const gpt = { provider: "openai", id: "gpt-4o", baseUrl, isFree: false } as const;
    const claude = { provider: "anthropic", id: "claude-sonnet-4-5", baseUrl: "", isFree: false } as const;
    expect(await priceOf(claude, million)).toBeGreaterThan(1);
    expect(await priceOf({ ...claude, id: "no-such-model" }, million)).toBeUndefined();
    expect(await priceOf(gpt, million)).toBeCloseTo(2.5, 5);
    expect(await priceOf(gpt, { inputTokens: undefined, outputTokens: 1 })).toBeUndefined();
    const contradictory = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 50 };
    expect(await priceOf(claude, contradictory)).toBeUndefined();
  });

  test("REQ-L9: a model of an OpenAI-compatible server on this machine costs nothing", async () => {
    const server = await openModelServer((response) => sendJson(response, openaiAnswer("ok")));
    const model = await open("openai/llama", settingsFor(server.url, { profile: "restricted" }));
    expect((await model.generate(REQUEST)).costUsd).toBe(0);
  });

  test("REQ-L9: an answer without usage is an answer; its cost is unknown", async () => {
    const server = await openModelServer((response) => sendJson(response, openaiAnswer("ok", "stop", null)));
    expect(await ask(server, "openai/gpt-4o")).toMatchObject({
      text: "ok",
      usage: { inputTokens: undefined, outputTokens: undefined },
      costUsd: undefined,
    });
  });

  test("REQ-L9: a usage that cannot be one is unknown; the answer stays", async () => {
    const usage = { prompt_tokens: 11, completion_tokens: -5, total_tokens: 6 };
    const server = await openModelServer((response) => sendJson(response, openaiAnswer("ok", "stop", usage)));
    expect(await ask(server, "openai/gpt-4o")).toMatchObject({
      text: "ok",
      usage: { inputTokens: 11, outputTokens: undefined },
      costUsd: undefined,
    });
  });

  test("REQ-L4 FAIL-G4: a usage of no tokens is unknown where there was text, as from proxies that lose it", async () => {
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    const server = await openModelServer((response) => sendJson(response, openaiAnswer("ok", "stop", usage)));
    expect(await ask(server, "openai/gpt-4o")).toMatchObject({
      usage: { inputTokens: undefined, outputTokens: undefined },
      costUsd: undefined,
    });
    const silent = await openModelServer((response) => sendJson(response, openaiAnswer("", "stop", usage)));
    expect(await ask(silent, "openai/gpt-4o")).toMatchObject({
      usage: { inputTokens: undefined, outputTokens: 0 },
    });
  });

  test("REQ-L9: an answer is streamed piece by piece, with its usage at the end", async () => {
    const server = await openModelServer((response) => {
      sendChunks(response, openaiChunks(["one ", "two ", "thrée 😀"]));
      response.end();
    });
    const pieces: string[] = [];
    const answer = await ask(server, "ollama_chat/m", { onText: (piece) => pieces.push(piece) });
    expect(pieces).toEqual(["one ", "two ", "thrée 😀"]);
    expect(answer).toMatchObject({ text: "one two thrée 😀", finish: "stop", usage: { outputTokens: 7 } });
    expect(server.requests[0]?.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });

  test("a character that is cut between two packets stays whole", async () => {
    const bytes = Buffer.from(openaiChunks(["größe 😀"]).join(""));
    const server = await openModelServer(async (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (let i = 0; i < bytes.length; i += 7) {
        response.write(bytes.subarray(i, i + 7));
        await new Promise(setImmediate);
      }
      response.end();
    });
    expect(await ask(server, "ollama/m", { onText: () => {} })).toMatchObject({ text: "größe 😀" });
  });

  test("FAIL-G3: of an answer that is longer than was asked for, what could have been asked for is kept", async () => {
    const server = await openModelServer((response) =>
      sendJson(response, openaiAnswer(" ".repeat(1_000_000))),
    );
    const { text, finish } = await ask(server, "ollama/m");
    expect([text.length, finish]).toEqual([REQUEST.maxOutputTokens * 128, "length"]);
  });

  test("a filtered answer says so", async () => {
    const server = await openModelServer((response) =>
      sendJson(response, openaiAnswer("I", "content_filter")),
    );
    expect(await ask(server, "ollama/m")).toMatchObject({ finish: "filtered" });
  });

  test.each([
    "gpt-4o",
    "openai/",
    "/x",
    "openai/../../x",
    "gemini/a//b",
    "gemini/a b",
    "openai/x\n",
    "cohere/x",
    "OPENAI/x",
    `openai/${"x".repeat(300)}`,
    "",
  ])("the name %j is refused before anything is opened", async (name) => {
    await expect(open(name, settingsFor("http://127.0.0.1:9"))).rejects.toMatchObject({
      code: "invalid_args",
    });
  });

  test("REQ-L6: a missing key is said with the variable's name, a malformed one without its value", async () => {
    const settings = settingsFor("http://127.0.0.1:9");
    for (const name of ["anthropic/x", "gemini/x"]) {
      await expect(open(name, settings, "")).rejects.toMatchObject({
        code: "unavailable",
        hint: expect.stringContaining("_API_KEY"),
      });
    }
    await expect(open("openai/x", settingsFor("https://api.openai.com/v1"), "")).rejects.toMatchObject({
      code: "unavailable",
      hint: expect.stringContaining("OPENAI_API_KEY"),
    });
    await expect(open("openai/x", settings, "")).resolves.toMatchObject({ name: "openai/x" });
    const broken: unknown = await open("anthropic/x", settings, `${KEY}\nmore`).catch(
      (error: unknown) => error,
    );
    expect(broken).toMatchObject({ code: "unavailable", hint: expect.any(String) });
    expect(String(broken)).not.toContain(KEY);
  });

  test("the variables that the libraries would read by themselves change nothing", async () => {
    const trap = await openModelServer((response) => sendJson(response, openaiAnswer("trapped")));
    const names = ["ANTHROPIC_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "OPENAI_BASE_URL"];
    const before = names.map((name) => process.env[name]);
    for (const name of names) process.env[name] = trap.url;
    try {
      const server = await openModelServer((response) => sendJson(response, anthropicAnswer("ok")));
      expect(await ask(server, "anthropic/claude-sonnet-4-5")).toMatchObject({ text: "ok" });
      expect(trap.connections()).toBe(0);
    } finally {
      names.forEach((name, i) => {
        if (before[i] === undefined) delete process.env[name];
        else process.env[name] = before[i];
      });
    }
  });

  test("the whole of the prompt arrives as it was given", async () => {
    const server = await openModelServer((response) => sendJson(response, openaiAnswer("ok")));
    const text = `quotes " \\ \u2028 😀 </s> <|im_end|>\n${"x".repeat(100_000)}`;
    await ask(server, "ollama/m", { messages: [{ role: "user", text }] });
    const [request] = server.requests;
    expect(request && messagesOf(request)).toEqual([{ role: "user", content: text }]);
  });
});
