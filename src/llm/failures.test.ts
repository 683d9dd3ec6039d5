import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import {
  type ModelServer,
  openaiAnswer,
  openaiChunks,
  openModelServer,
  type Script,
  sendChunks,
  sendJson,
} from "../../test/model-server.ts";
import { createCircuitBreaker } from "../base/circuit-breaker.ts";
import { toLlmcError } from "../base/error.ts";
import { describeCause } from "../observe/cause.ts";
import type { GenerateRequest } from "./contract.ts";
import { mayBeBilled, retryAfterMs, translateFailure } from "./failures.ts";
import { createModels, type ModelSettings } from "./models.ts";

const KEY = "sk-this-is-the-key-that-nobody-may-see";
const PROMPT = "the patient's own words";
const PROVIDER_TEXT = "words of the provider";

const settingsFor = (url: string, more: Partial<ModelSettings> = {}): ModelSettings => ({
  profile: "unrestricted",
  allowedModelPrefixes: [],
  providers: {
    ollama: { url, keyVariable: "OLLAMA_KEY" },
    openai: { url, keyVariable: "OPENAI_API_KEY" },
    anthropic: { url, keyVariable: "ANTHROPIC_API_KEY" },
    google: { url, keyVariable: "GEMINI_API_KEY" },
  },
  ...more,
});

const askAt = async (
  settings: ModelSettings,
  name: string,
  more: Partial<GenerateRequest> = {},
): Promise<unknown> => {
  const models = createModels({ settings: () => settings, secret: () => KEY });
  try {
    const model = await models.open(name, () => {});
    return await model.generate({
      messages: [{ role: "user", text: PROMPT }],
      maxOutputTokens: 10,
      timeoutMs: 5000,
      ...more,
    });
  } catch (thrown) {
    const error = toLlmcError(thrown);
    // Neither the caller nor the log learns the key, the prompt or what the provider said.
    const shown = JSON.stringify([error.message, error.hint, error.details, describeCause(error.cause)]);
    for (const secret of [KEY, PROMPT, PROVIDER_TEXT]) expect(shown).not.toContain(secret);
    expect(error.cause).toBeUndefined();
    return error;
  }
};

const ask = (server: ModelServer, name: string, more?: Partial<GenerateRequest>): Promise<unknown> =>
  askAt(settingsFor(server.url), name, more);

const sayError =
  (status: number, headers = {}): Script =>
  (response) =>
    sendJson(
      response,
      { error: { message: `${PROVIDER_TEXT} ${KEY}`, type: "x", code: "y", status: "z" } },
      status,
      headers,
    );

const NAMES = ["ollama_chat/m", "openai/m", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"];

describe.each(NAMES)("what a provider's failure becomes, for %s", (name) => {
  test.each([
    [401, "provider_error", false],
    [403, "provider_error", false],
    [404, "provider_error", false],
    [400, "provider_error", false],
    [413, "provider_error", false],
    [429, "rate_limited", true],
    [500, "provider_error", true],
    [503, "provider_error", true],
    [529, "provider_error", true],
  ])("REQ-L5 REQ-L6: %d is %s, without key, prompt or answer", async (status, code, retryable) => {
    const server = await openModelServer(sayError(status, { "retry-after": "7" }));
    for (const onText of [undefined, () => {}]) {
      const error = await ask(server, name, { onText });
      expect(error).toMatchObject({ code, retryable, hint: expect.any(String) });
      if (status === 429) expect(error).toMatchObject({ details: { retry_after_ms: 7000 } });
    }
    // Never tried twice by itself.
    expect(server.requests.length).toBe(2);
  });

  test("REQ-L5: an answer that is no answer is a provider_error", async () => {
    const texts = ["{", "null", "[]", '{"choices":[]}', "<html>", `{"content":"${PROVIDER_TEXT}"}`, ""];
    for (const text of texts) {
      const server = await openModelServer((response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(text);
      });
      expect(await ask(server, name), text).toMatchObject({ code: "provider_error" });
    }
  });
});

describe("trouble on the way to a model", () => {
  test("a key that is refused names the variable to look at", async () => {
    const server = await openModelServer(sayError(401));
    expect(await ask(server, "anthropic/claude-sonnet-4-5")).toMatchObject({
      hint: expect.stringContaining("ANTHROPIC_API_KEY"),
    });
  });

  test("REQ-L5: no server is unavailable, and says which key of the configuration to look at", async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await new Promise((done) => closed.once("listening", done));
    const { port } = closed.address() as { port: number };
    await new Promise((done) => closed.close(done));
    expect(await askAt(settingsFor(`http://127.0.0.1:${port}`), "ollama/m")).toMatchObject({
      code: "unavailable",
      retryable: true,
      message: expect.stringContaining("ECONNREFUSED"),
      hint: expect.stringContaining("mcp.llm.ollama_url"),
    });
    expect(await askAt(settingsFor("http://no-such-name.invalid"), "ollama/m")).toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/ENOTFOUND|EAI_AGAIN/),
    });
  });

  test("a server that speaks no TLS, or no HTTP, is a clear failure", async () => {
    const server = await openModelServer((response) => sendJson(response, openaiAnswer("ok")));
    expect(await askAt(settingsFor(server.url.replace("http:", "https:")), "ollama/m")).toMatchObject({
      code: "unavailable",
    });
    const noise = createServer((socket) => {
      socket.on("error", () => {});
      socket.end("SSH-2.0-OpenSSH_9\r\n");
    }).listen(0, "127.0.0.1");
    await new Promise((done) => noise.once("listening", done));
    const { port } = noise.address() as { port: number };
    expect(await askAt(settingsFor(`http://127.0.0.1:${port}`), "ollama/m")).toMatchObject({
      code: "provider_error",
    });
    noise.close();
  });

  const CUT: readonly (readonly [string, (response: ServerResponse) => void, boolean])[] = [
    ["before the headers", (response) => response.destroy(), false],
    [
      "within the body",
      (response) => {
        response.writeHead(200, { "content-type": "application/json", "content-length": "5000" });
        response.write('{"choices":', () => response.destroy());
      },
      false,
    ],
    [
      "within a stream",
      (response) => {
        sendChunks(response, openaiChunks(["a", "b"], { whole: false }));
        setImmediate(() => response.destroy());
      },
      true,
    ],
    [
      "by a stream that ends without its end",
      (response) => {
        sendChunks(response, openaiChunks(["a", "b"], { whole: false }));
        response.end();
      },
      true,
    ],
    [
      "by an error in the stream",
      (response) => {
        sendChunks(response, openaiChunks(["a"], { whole: false }));
        response.end(`data: {"error":{"message":"${PROVIDER_TEXT}"}}\n\n`);
      },
      true,
    ],
    [
      "by nonsense in the stream",
      (response) => {
        sendChunks(response, openaiChunks(["a"], { whole: false }));
        response.end(`data: {nonsense ${PROVIDER_TEXT}\n\n`);
      },
      true,
    ],
  ];

  test.each(CUT)(
    "REQ-D9: an answer cut %s is an error, never a partial answer",
    async (_where, cut, streamed) => {
      const server = await openModelServer(cut);
      const error = await ask(server, "openai/m", streamed ? { onText: () => {} } : {});
      expect(error).toMatchObject({ code: "provider_error", message: expect.any(String) });
    },
  );

  test("a redirect is not followed, to another host or to the same", async () => {
    const other = await openModelServer((response) => sendJson(response, openaiAnswer("stolen")));
    for (const status of [301, 302, 303, 307, 308]) {
      const server = await openModelServer((response) => {
        response.writeHead(status, { location: `${other.url}/v1/chat/completions` });
        response.end();
      });
      expect(await ask(server, "openai/m")).toMatchObject({ code: "provider_error", retryable: false });
      expect(server.requests.length).toBe(1);
    }
    expect(other.connections()).toBe(0);
  });

  test("FAIL-G3: an endless answer is cut off, and its connection closed", async () => {
    const server = await openModelServer(async (response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const block = Buffer.alloc(1024 * 1024, " ");
      response.on("error", () => {});
      const closed = once(response, "close");
      for (let i = 0; i < 64 && !response.destroyed; i++) {
        if (!response.write(block)) await Promise.race([once(response, "drain"), closed]);
      }
    });
    expect(await ask(server, "openai/m")).toMatchObject({
      code: "provider_error",
      message: expect.stringContaining("longer than"),
    });
    await server.hungUp;
  });

  test("a compressed answer is refused: it may be a bomb", async () => {
    const server = await openModelServer((response) => {
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
      response.end("x");
    });
    expect(await ask(server, "openai/m")).toMatchObject({ code: "provider_error" });
  });

  test.each([undefined, () => {}])(
    "REQ-L5: a model that is too slow is a timeout, and is let go of",
    async (onText) => {
      const server = await openModelServer(() => {});
      expect(await ask(server, "openai/m", { timeoutMs: 60, onText })).toMatchObject({
        code: "timeout",
        hint: expect.stringContaining("mcp.llm.timeout_seconds"),
      });
      await server.hungUp;
    },
  );

  test("a stream that trickles for ever ends at its deadline", async () => {
    const server = await openModelServer((response) => {
      sendChunks(response, openaiChunks(["a"], { whole: false }));
      const timer = setInterval(() => response.write(": ping\n\n"), 10);
      response.on("close", () => clearInterval(timer));
    });
    expect(await ask(server, "openai/m", { timeoutMs: 150, onText: () => {} })).toMatchObject({
      code: "timeout",
    });
    await server.hungUp;
  });

  test("FAIL-D5 REQ-L11: a caller that gives up ends the call at the provider", async () => {
    const asked = Promise.withResolvers<void>();
    const server = await openModelServer(() => asked.resolve());
    const controller = new AbortController();
    const answer = ask(server, "openai/m", { signal: controller.signal });
    await asked.promise;
    controller.abort();
    expect(await answer).toMatchObject({ code: "cancelled" });
    await server.hungUp;
    expect(await ask(server, "openai/m", { signal: AbortSignal.abort() })).toMatchObject({
      code: "cancelled",
    });
    expect(server.requests.length).toBe(1);
  });

  test("REQ-L4: only what the provider surely did not take is free of charge", async () => {
    const context = { model: "openai/m", urlKey: "openai_url", keyVariable: "" };
    const isBilled = (code: string, syscall?: string): boolean =>
      mayBeBilled(translateFailure(Object.assign(new Error("x"), { code, syscall }), context));
    for (const code of ["ECONNREFUSED", "ENOTFOUND", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID"])
      expect(isBilled(code), code).toBe(false);
    expect(isBilled("ETIMEDOUT", "connect")).toBe(false);
    expect(isBilled("ETIMEDOUT", "read")).toBe(true);
    for (const code of ["ECONNRESET", "EHOSTUNREACH", "EPROTO", "ERR_STREAM_PREMATURE_CLOSE", "ABORT_ERR"])
      expect(isBilled(code, "read"), code).toBe(true);
    const breaker = createCircuitBreaker({ backend: "models", threshold: () => 1, now: () => 0 });
    const fails = (): Promise<unknown> =>
      breaker.run(() => Promise.reject(new Error("down"))).catch((thrown: unknown) => thrown);
    expect(mayBeBilled(await fails())).toBe(true);
    // Nobody was asked.
    expect(mayBeBilled(await fails())).toBe(false);
  });

  test("waiting times are understood in all their forms, and bounded", () => {
    const now = Date.parse("2026-01-01T00:00:00Z");
    expect(retryAfterMs({ "retry-after": "3" }, now)).toBe(3000);
    expect(retryAfterMs({ "retry-after-ms": "250" }, now)).toBe(250);
    expect(retryAfterMs({ "retry-after": "Thu, 01 Jan 2026 00:00:09 GMT" }, now)).toBe(9000);
    expect(retryAfterMs({ "retry-after": "9e99" }, now)).toBe(3_600_000);
    for (const odd of ["", "soon", "-5", "NaN", "Thu, 01 Jan 1970 00:00:00 GMT"]) {
      expect(retryAfterMs({ "retry-after": odd }, now)).toBe(1000);
    }
    expect(retryAfterMs({}, now)).toBe(1000);
  });
});

describe("the restricted profile on the wire", () => {
  const restricted = (url: string): ModelSettings => settingsFor(url, { profile: "restricted" });

  test("REQ-L2: loopback is spoken to, by address and by name, in both families", async () => {
    const v4 = await openModelServer((response) => sendJson(response, openaiAnswer("ok")));
    const urls = [
      v4.url,
      `http://localhost:${v4.port}`,
      `http://2130706433:${v4.port}`,
      `http://127.1:${v4.port}`,
    ];
    for (const url of urls)
      expect(await askAt(restricted(url), "ollama/m"), url).toMatchObject({ text: "ok" });
    const v6 = await openModelServer((response) => sendJson(response, openaiAnswer("six")), "::1");
    expect(await askAt(restricted(v6.url), "ollama/m")).toMatchObject({ text: "six" });
  });

  test("REQ-L2 FAIL-G5: nothing else is, and no connection is opened", async () => {
    const server = await openModelServer((response) => sendJson(response, openaiAnswer("leaked")), "0.0.0.0");
    for (const host of ["0.0.0.0", "[::]", "10.0.0.1", "3232235777", "[::ffff:10.0.0.1]"]) {
      expect(await askAt(restricted(`http://${host}:${server.port}`), "ollama/m"), host).toMatchObject({
        code: "egress_denied",
        hint: expect.any(String),
      });
    }
    expect(await askAt(restricted(server.url.replace("0.0.0.0", "127.0.0.1")), "gemini/m")).toMatchObject({
      code: "egress_denied",
    });
    expect(server.connections()).toBe(0);
  });
});
