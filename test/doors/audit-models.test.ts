import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openaiAnswer, type Script, sendJson, startModelServer } from "../model-server.ts";
import { type HttpDoor, openHttpDoor, TOKEN, UNLIMITED } from "./http-door.ts";

type Row = Readonly<Record<string, unknown>>;

const BODY = { session_id: "s", role: "Grace", user_msg: "why do zebras have stripes?", inject_context: "" };
const ANSWER = "At dusk, said it.";

const openDoor = async (model: string, url: string): Promise<HttpDoor> => {
  const door = await openHttpDoor({
    args: UNLIMITED,
    env: { LLMC_MCP_TOKEN: TOKEN },
    files: { "llmc.toml": `[mcp.llm]\nagent_model = "${model}"\nollama_url = "${url}"\n` },
  });
  onTestFinished(() => door[Symbol.asyncDispose]());
  return door;
};

const textOf = ({ root }: HttpDoor): string =>
  readdirSync(join(root, ".llmc/audit"))
    .map((name) => readFileSync(join(root, ".llmc/audit", name), "utf8"))
    .join("");

const modelCalls = (door: HttpDoor): readonly Row[] =>
  textOf(door)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Row)
    .filter(({ kind }) => kind === "model_call");

test("REQ-O5 REQ-L6: each time that a model is asked is recorded, with what it used, also if it fails", async () => {
  let script: Script = (response) => sendJson(response, openaiAnswer(ANSWER));
  const server = await startModelServer((response, request) => script(response, request));
  onTestFinished(() => server[Symbol.asyncDispose]());
  const door = await openDoor("ollama_chat/zoo:1b", server.url);
  const headers = { "x-correlation-id": "my-own-id-7" };
  expect((await door.post("/invoke_agent", BODY, headers)).status).toBe(200);
  script = (response) => sendJson(response, { error: { message: "out of memory" } }, 500);
  expect((await door.post("/invoke_agent", BODY)).status).toBeGreaterThanOrEqual(500);
  // Costs tokens, and is no answer.
  script = (response) => sendJson(response, openaiAnswer(""));
  expect((await door.post("/invoke_agent", BODY)).status).toBeGreaterThanOrEqual(500);
  // Too long: no model is asked.
  expect((await door.post("/invoke_agent", { ...BODY, inject_context: "word ".repeat(90_000) })).status).toBe(
    413,
  );
  const asked = {
    principal: expect.stringMatching(/./),
    transport: "http",
    session_id: "s",
    tool: "invoke_agent",
    provider: "ollama",
    asked_model: "ollama_chat/zoo:1b",
    decision: { allowed: true, policies: ["mcp.rlm.profile"] },
    duration_ms: expect.any(Number),
  };
  expect(modelCalls(door)).toMatchObject([
    { ...asked, correlation_id: "my-own-id-7", tokens_in: 11, tokens_out: 7, cost_usd: 0, outcome: "ok" },
    { ...asked, tokens_in: null, tokens_out: null, outcome: "provider_error" },
    { ...asked, tokens_in: 11, tokens_out: 7, outcome: "ok" },
  ]);
  for (const content of [ANSWER, BODY.user_msg, "out of memory"]) expect(textOf(door)).not.toContain(content);
});

test("REQ-O5 REQ-L2: a model that text may not go to is recorded as refused", async () => {
  const door = await openDoor("ollama_chat/zoo:1b", "http://models.example:11434");
  expect((await door.post("/invoke_agent", BODY)).status).toBe(403);
  expect(modelCalls(door)).toMatchObject([
    {
      decision: { allowed: false, policies: ["mcp.rlm.profile"] },
      tokens_in: null,
      outcome: "egress_denied",
    },
  ]);
});

test("REQ-I4 REQ-L2: a policy about the model's host is asked before a connection is opened", async () => {
  const server = await startModelServer((response) => sendJson(response, openaiAnswer(ANSWER)));
  onTestFinished(() => server[Symbol.asyncDispose]());
  const door = await openHttpDoor({
    args: UNLIMITED,
    env: { LLMC_MCP_TOKEN: TOKEN },
    files: {
      "llmc.toml": `[mcp.llm]\nagent_model = "ollama_chat/zoo:1b"\nollama_url = "${server.url}"\n[mcp.security]\npolicy_files = ["p.cedar"]\n`,
      "p.cedar": '@id("no-host") forbid(principal, action in Action::"egress", resource is Host);',
    },
  });
  onTestFinished(() => door[Symbol.asyncDispose]());
  const refused = await door.post("/invoke_agent", BODY);
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({
    code: "FORBIDDEN",
    message: "The policy no-host does not allow text to 127.0.0.1.",
  });
  expect(server.connections()).toBe(0);
  const decisions = textOf(door)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Row)
    .filter(({ about }) => about === "host");
  expect(decisions).toMatchObject([
    { kind: "decision", tool: "invoke_agent", action: "ask_model", host: "127.0.0.1", effect: "egress" },
  ]);
});
