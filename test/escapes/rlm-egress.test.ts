import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isLoopbackAddress } from "../../src/policy/egress.ts";
import { openTestApp } from "../app.ts";
import { type ModelServer, openaiAnswer, sendJson, startModelServer } from "../model-server.ts";

/** Every socket that this process opens, and where it was really connected to. */
const watchSockets = () => {
  const connected: string[] = [];
  const opened: Socket[] = [];
  const note = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    opened.push(socket);
    socket.once("connect", () => connected.push(`${socket.remoteAddress}`));
  };
  subscribe("net.client.socket", note);
  return {
    opened: () => opened.length,
    connected: () => connected,
    end: () => unsubscribe("net.client.socket", note),
  };
};

const ANSWER = "```js\nfinish('an answer')\n```";

describe("REQ-L2 REQ-D27 FAIL-G5: nothing leaves the machine in the restricted profile", () => {
  let local: ModelServer;
  let redirecting: ModelServer;
  let trap: ModelServer;
  let sockets: ReturnType<typeof watchSockets>;
  const PROXIES = [
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_BASE_URL",
  ];
  const before = PROXIES.map((name) => process.env[name]);

  beforeAll(async () => {
    local = await startModelServer((response) => sendJson(response, openaiAnswer(ANSWER)));
    trap = await startModelServer((response) => sendJson(response, openaiAnswer("trapped")));
    redirecting = await startModelServer((response) => {
      response.writeHead(307, { location: `${trap.url}/v1/chat/completions` });
      response.end();
    });
    for (const name of PROXIES) process.env[name] = trap.url;
    sockets = watchSockets();
  });
  afterAll(async () => {
    sockets.end();
    PROXIES.forEach((name, at) => {
      if (before[at] === undefined) delete process.env[name];
      else process.env[name] = before[at];
    });
    for (const server of [local, redirecting, trap]) await server[Symbol.asyncDispose]();
  });

  const ask = async (rlm: string, llm = "", args: object = {}) => {
    const app = await openTestApp({
      config: `[mcp]\nmode = "classic"\n[mcp.llm]\nopenai_key_env = ""\n${llm}\n[mcp.rlm]\n${rlm}\n`,
    });
    return app.ask("rlm_query", { task: "t", context: "secret text", ...args });
  };
  const localUrl = (): string => `openai_url = "${local.url}/v1"`;

  test.each<[string, string, string | undefined, object]>([
    ["a cloud as the root model", 'root_model = "anthropic/claude-sonnet-4-5"', undefined, {}],
    ["another cloud", 'root_model = "gemini/gemini-2.5-flash"', undefined, {}],
    [
      "a cloud as the sub model",
      'root_model = "openai/m"\nsub_model = "anthropic/claude-sonnet-4-5"',
      "local",
      {},
    ],
    ["OpenAI's own address", 'root_model = "openai/gpt-4o"', "", {}],
    ["a public address", 'root_model = "openai/m"', 'openai_url = "http://8.8.8.8/v1"', {}],
    [
      "a private address that is not listed",
      'root_model = "openai/m"',
      'openai_url = "http://10.0.0.7/v1"',
      {},
    ],
    ["a mapped address", 'root_model = "openai/m"', 'openai_url = "http://[::ffff:808:808]/v1"', {}],
    ["the metadata service", 'root_model = "openai/m"', 'openai_url = "http://169.254.169.254/v1"', {}],
    [
      "a name that only begins well",
      'root_model = "openai/m"',
      'openai_url = "http://localhost.example.org/v1"',
      {},
    ],
    [
      "a listed name with a public address",
      'root_model = "openai/m"\nprivate_hosts = ["8.8.8.8"]',
      'openai_url = "http://8.8.8.8/v1"',
      {},
    ],
    ["Ollama's cloud", 'root_model = "ollama_chat/gpt-oss:120b-cloud"', undefined, {}],
    ["a model of the caller's", 'root_model = "openai/m"', "local", { model: "anthropic/claude-sonnet-4-5" }],
    [
      "a local model of the caller's",
      'root_model = "openai/m"\nallow_model_override = true',
      "local",
      { model: "openai/other" },
    ],
    [
      "a model without the prefix",
      'root_model = "openai/m"\nallowed_model_prefixes = ["ollama_chat/"]',
      "local",
      {},
    ],
  ])("%s is refused, with the way out, and no packet is sent", async (_, rlm, llm, args) => {
    const [opened, asked] = [sockets.opened(), local.connections()];
    const result = await ask(rlm, llm === "local" ? localUrl() : (llm ?? ""), args);
    if (result.kind !== "error") throw new Error("it was answered");
    expect(result.body.meta).toMatchObject({ error_code: "egress_denied", retryable: false });
    expect(result.body.error).toMatch(
      /mcp\.rlm\.(?:profile|allow|private)|profile = "unrestricted"|operator/,
    );
    // Not even a socket that was refused after it was opened.
    expect(sockets.opened()).toBe(opened);
    expect(local.connections()).toBe(asked);
  });

  test("a redirect and the proxies of the environment lead nowhere; what works connects to loopback alone", async () => {
    const moved = await ask('root_model = "openai/m"', `openai_url = "${redirecting.url}/v1"`);
    expect(moved.kind === "error" && moved.body.meta).toMatchObject({ error_code: "provider_error" });
    const answered = await ask('root_model = "openai/m"', localUrl());
    expect(answered.kind, JSON.stringify(answered).slice(0, 300)).toBe("ok");
    expect(trap.connections()).toBe(0);
    expect(sockets.connected().length).toBeGreaterThan(0);
    for (const address of sockets.connected()) expect(isLoopbackAddress(address), address).toBe(true);
  });

  /** What each part of an analysis can be set to; the first of each leads to loopback. */
  const DIMENSIONS = {
    root: ["openai/m", "anthropic/claude-sonnet-4-5", "ollama_chat/gpt-oss:120b-cloud"],
    sub: ["", "openai/n", "gemini/gemini-2.5-flash"],
    base: [
      "local",
      "redirecting",
      "http://8.8.8.8/v1",
      "https://api.openai.com/v1",
      "http://localhost.example.org/v1",
    ],
    override: [undefined, "openai/other", "anthropic/claude-sonnet-4-5"],
    proxies: [false, true],
  } as const;
  type Combination = { readonly [K in keyof typeof DIMENSIONS]: (typeof DIMENSIONS)[K][number] };
  const combinations: readonly Combination[] = DIMENSIONS.root.flatMap((root) =>
    DIMENSIONS.sub.flatMap((sub) =>
      DIMENSIONS.base.flatMap((base) =>
        DIMENSIONS.override.flatMap((override) =>
          DIMENSIONS.proxies.map((proxies) => ({ root, sub, base, override, proxies })),
        ),
      ),
    ),
  );

  const urlOf = (base: Combination["base"]): string =>
    base === "local" ? `${local.url}/v1` : base === "redirecting" ? `${redirecting.url}/v1` : base;
  const setProxies = (isOn: boolean): void => {
    for (const name of PROXIES) {
      if (isOn) process.env[name] = trap.url;
      else delete process.env[name];
    }
  };
  /** By the rules of the restricted profile, written down a second time. */
  const expected = ({ root, sub, base, override }: Combination): string => {
    const isLocal = (model: string): boolean => model === "" || /^openai\/[mn]$/.test(model);
    const isReachable = base === "local" || base === "redirecting";
    if (override !== undefined || !isLocal(root) || !isLocal(sub) || !isReachable) return "egress_denied";
    return base === "local" ? "ok" : "provider_error";
  };

  test(`each of ${combinations.length} combinations connects to loopback or to nothing`, async () => {
    const outcomes = new Map<string, number>();
    const groups = Map.groupBy(combinations, ({ root, sub, base }) => JSON.stringify([root, sub, base]));
    for (const group of groups.values()) {
      const [{ root, sub, base }] = group as [Combination, ...Combination[]];
      const app = await openTestApp({
        config: `[mcp]\nmode = "classic"\n[mcp.llm]\nopenai_key_env = ""\nopenai_url = "${urlOf(base)}"\n[mcp.rlm]\nallow_model_override = true\nroot_model = "${root}"\nsub_model = "${sub}"\n`,
      });
      for (const one of group) {
        setProxies(one.proxies);
        const opened = sockets.opened();
        const args = one.override === undefined ? {} : { model: one.override };
        const result = await app.ask("rlm_query", { task: "t", context: "secret text", ...args });
        const outcome = result.kind === "error" ? String(result.body.meta.error_code) : result.kind;
        expect(outcome, JSON.stringify(one)).toBe(expected(one));
        if (outcome === "egress_denied") expect(sockets.opened(), JSON.stringify(one)).toBe(opened);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
    }
    setProxies(true);
    // Both kinds occur, so that neither is true by accident.
    expect(outcomes.get("ok")).toBe(4);
    expect(outcomes.get("provider_error")).toBe(4);
    expect(trap.connections()).toBe(0);
    for (const address of sockets.connected()) expect(isLoopbackAddress(address), address).toBe(true);
  });
});
