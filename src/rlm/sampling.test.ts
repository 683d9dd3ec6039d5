import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { openTestApp, TEST_CALLER, type TestApp } from "../../test/app.ts";
import { js } from "../../test/rlm-stand.ts";
import type { CallResult } from "../core/call.ts";
import type { Question } from "../core/contract.ts";
import { createWaitingAnalyses } from "./running-analyses.ts";
import { SamplingClient } from "./sampling.ts";

const config = (more = ""): string =>
  `[mcp]\nmode = "classic"\n[mcp.llm]\nprices = ["sampling/client=1/1"]\n[mcp.rlm]\nroot_model = "sampling/client"\n${more}`;

type Asked = Extract<Question, { readonly kind: "sampling" }>["request"];

/** A client that answers with its model, round after round, and says how often it was asked and for how much at once. */
const ask = async (app: TestApp, reply: (request: Asked) => unknown, owner = "test") => {
  const rounds: number[] = [];
  const args = { task: "what?", context: "a short text" };
  let result: CallResult = await app.ask("rlm_query", args, { canAsk: () => true });
  while (result.kind === "questions") {
    const questions = Object.entries(result.questions);
    rounds.push(questions.length);
    const answers = Object.fromEntries(
      questions.map(([key, question]) => [key, question.kind === "sampling" ? reply(question.request) : {}]),
    );
    const caller = {
      agentId: "a",
      sessionId: "s",
      model: "",
      transport: "cli",
      principal: "local",
      owner,
    } as const;
    result = await app.ask("rlm_query", args, {
      canAsk: () => true,
      answers,
      state: result.state,
      caller: { ...caller, may: new Set(["read", "egress"]) },
    });
  }
  return { result, rounds };
};

const textAnswer = (text: string) => ({
  model: "m",
  role: "assistant",
  content: { type: "text", text },
  stopReason: "endTurn",
});

const messagesOf = (request: Asked) =>
  request["messages"] as readonly { readonly content: { readonly text: string } }[];

test("REQ-L3 REQ-L2: the client's own model: asked between the rounds of one call, sub-calls at once, under the same budget", async () => {
  const app = await openTestApp({ config: config('profile = "unrestricted"') });
  const reply = (request: Asked) => {
    const isRoot = String(request["systemPrompt"]).startsWith("You answer a question about a text");
    const messages = messagesOf(request);
    if (!isRoot) return textAnswer(messages[0]?.content.text.toUpperCase() ?? "");
    return textAnswer(
      messages.length === 1
        ? js("const parts = await llmBatch(['one', 'two', 'three']); print(parts)")
        : js("finish(parts.join(' '))"),
    );
  };
  const { result, rounds } = await ask(app, reply);
  expect(result.kind === "ok" && result.structured).toMatchObject({
    data: { answer: "ONE TWO THREE", budget_summary: { calls: 5 } },
    meta: { model_used: "sampling/client" },
  });
  expect(rounds).toEqual([1, 3, 1]);
  // Clients report no usage: the worst case counts.
  const summary = (result as { structured: { data: { budget_summary: { total_cost_usd: number } } } })
    .structured.data;
  expect(summary.budget_summary.total_cost_usd).toBeGreaterThan((5 * 2048) / 1e6);

  const declined = await ask(app, () => ({ action: "decline" }));
  expect(declined.result.kind === "error" && declined.result.body.meta.error_code).toBe("provider_error");
  const stranger = await ask(app, reply, "somebody else");
  expect(stranger.result.kind === "error" && stranger.result.body.error).toContain("no longer waits");
});

test("REQ-L3: questions are never none, and nobody loses an analysis to somebody else's", async () => {
  const client = new SamplingClient();
  const model = client.model(async () => 0);
  const given = new AbortController();
  const request = { messages: [], maxOutputTokens: 1, timeoutMs: 5000 };
  const next = client.nextQuestions();
  const first = model.generate({ ...request, signal: given.signal });
  given.abort(new Error("given up"));
  await expect(first).rejects.toThrow("given up");
  await setTimeout(60);
  void model.generate(request).catch(() => {});
  expect(Object.keys(await next)).toHaveLength(1);

  const waiting = createWaitingAnalyses();
  const keep = (owner: string, at: number, givenUp?: AbortSignal) => {
    const controller = new AbortController();
    const id = `${owner}-${at}`;
    const stop = (reason: unknown): void => controller.abort(reason);
    const done = new Promise<never>(() => {});
    const slots = { suspend: () => {}, resume: async () => {} };
    waiting.keep({ id, owner, principal: owner, request: "q", client, slots, stop, done }, givenUp);
    return { id, signal: controller.signal };
  };
  const mine = keep("ann", 0);
  const theirs = Array.from({ length: 9 }, (_, at) => keep("ben", at));
  expect(theirs.map(({ signal }) => signal.aborted)).toEqual([true, ...Array(8).fill(false)]);
  const others = Array.from({ length: 7 * 8 }, (_, at) => keep(`other-${at % 7}`, at));
  expect(others.filter(({ signal }) => signal.aborted)).toHaveLength(0);
  expect(theirs[1]?.signal.aborted, "the oldest of somebody who has most").toBe(true);
  expect(mine.signal.aborted).toBe(false);
  expect(() => waiting.take(mine.id, "ben", "q")).toThrow("no longer waits");
  expect(() => waiting.take(mine.id, "ann", "another")).toThrow("other arguments");
  expect(waiting.take(mine.id, "ann", "q").id).toBe(mine.id);

  const abandonedRequest = new AbortController();
  const abandoned = keep("ann", 1, abandonedRequest.signal);
  expect(abandoned.signal.aborted).toBe(false);
  abandonedRequest.abort();
  expect(abandoned.signal.aborted, "its client gave the request up").toBe(true);
  const [hers, his] = [keep("ann", 2), keep("bob", 2)];
  waiting.endAll("ann", new Error("revoked"));
  expect([hers.signal.aborted, his.signal.aborted]).toEqual([true, false]);
});

test("FAIL-J8 REQ-L11: an analysis whose model is asked ends with the rights of its owner", async () => {
  const app = await openTestApp({ config: config('profile = "unrestricted"') });
  const args = { task: "what?", context: "a short text" };
  const asked = await app.ask("rlm_query", args, { canAsk: () => true });
  if (asked.kind !== "questions") throw new Error(JSON.stringify(asked));
  (await app.engines()).rlm.endAll(TEST_CALLER.owner);
  const key = Object.keys(asked.questions)[0] ?? "";
  const answers = { [key]: textAnswer("```js\nfinish('late')\n```") };
  const late = await app.ask("rlm_query", args, { canAsk: () => true, answers, state: asked.state });
  expect(late.kind === "error" && late.body.error).toContain("no longer waits");
});

test("REQ-L2 REQ-D27: not in the restricted profile, and not with a client that offers no model", async () => {
  const restricted = await openTestApp({ config: config() });
  const args = { task: "what?", context: "a short text" };
  expect(await restricted.errorCode("rlm_query", args)).toBe("egress_denied");
  const openly = 'profile = "unrestricted"';
  const messageOf = async (more: string): Promise<string> => {
    const result = await (await openTestApp({ config: config(more) })).ask("rlm_query", args, {
      canAsk: () => true,
    });
    return result.kind === "error" ? `${result.body.meta.error_code}: ${result.body.error}` : result.kind;
  };
  expect(await messageOf(`${openly}\nallowed_model_prefixes = ["ollama_chat/"]`)).toMatch(
    /^egress_denied: .*allowed_model_prefixes/,
  );
  const open = await openTestApp({ config: config(openly) });
  expect(await open.errorCode("rlm_query", args)).toBe("provider_error");
});
