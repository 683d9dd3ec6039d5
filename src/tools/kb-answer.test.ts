import { describe, expect, onTestFinished, test } from "vitest";
import { openTestApp } from "../../test/app.ts";
import { runLlmc } from "../../test/command-line.ts";
import { openaiAnswer, sendJson, startModelServer } from "../../test/model-server.ts";
import { cleanEnv } from "../../test/workspace.ts";

const MODEL = "ollama_chat/zoo:1b";
const QUERY = { query: "How long is each backup kept?" };

/** A knowledge base of one document, and a model with one reply. */
const openAnswers = async (reply: string, config = "", prices: readonly string[] = []) => {
  const server = await startModelServer((response) => sendJson(response, openaiAnswer(reply)));
  onTestFinished(() => server[Symbol.asyncDispose]());
  const app = await openTestApp({
    config: `[mcp]\nmode = "classic"\n[mcp.kb]\nanswer_model = "${MODEL}"\n[mcp.llm]\nollama_url = "${server.url}"\nprices = ${JSON.stringify(prices)}\n${config}`,
    files: { "backup.md": "# Backups\nEach backup is kept for thirty days.\n" },
  });
  for (const args of [
    ["create", "hand"],
    ["add", "hand", "backup.md"],
    ["promote", "hand"],
  ])
    expect(await runLlmc(app.root, ["kb", ...args], { env: cleanEnv() })).toMatchObject({ code: 0 });
  return { app, server };
};

describe("kb_answer with a model: REQ-K4 REQ-L6", () => {
  test("its words are kept as far as the passages support them, and its use is counted", async () => {
    const { app, server } = await openAnswers("A backup is kept for thirty days. [1]");
    const scrape = await app.metrics.servePrometheus();
    expect(await app.text("kb_answer", QUERY)).toContain("1> A backup is kept for thirty days.");
    expect(server.requests).toHaveLength(1);
    expect((await scrape()).body).toContain(`llmc_model_calls_total{model="${MODEL}"} 1`);
  });

  test("what the passages do not support is left out, and the documents answer by themselves", async () => {
    const { app } = await openAnswers("A backup is kept for ninety days. [1]");
    const text = await app.text("kb_answer", QUERY);
    expect(text).toContain("1> Each backup is kept for thirty days.");
    expect(text).not.toContain("ninety");
  });

  test("where nothing fits, no model is asked, and the caller learns what to do next", async () => {
    const { app, server } = await openAnswers("A backup is kept for thirty days. [1]");
    expect(await app.text("kb_answer", { query: "Who painted the Sistine Chapel?" })).toMatch(
      /^Not in this knowledge base\. \(confidence of an answer 0\.\d+; kb_hybrid_search shows/,
    );
    expect(server.requests).toHaveLength(0);
  });

  test("a call that could cost more than mcp.rlm.max_budget_usd is not made: REQ-L4", async () => {
    const { app, server } = await openAnswers(
      "A backup is kept for thirty days. [1]",
      "[mcp.rlm]\nmax_budget_usd = 1\n",
      [`${MODEL}=1000000/1000000`],
    );
    expect(await app.ask("kb_answer", QUERY)).toMatchObject({
      error: {
        code: "budget_exceeded",
        hint: "The operator's limit for one answer is mcp.rlm.max_budget_usd.",
      },
    });
    expect(server.requests).toHaveLength(0);
  });

  test.each(["restricted", "unrestricted"])(
    "in the profile %s, a call chooses another model only where the operator lets calls do so: REQ-L5",
    async (profile) => {
      const { app, server } = await openAnswers(
        "A backup is kept for thirty days. [1]",
        `[mcp.rlm]\nprofile = "${profile}"\nallow_model_override = true\nallow_unknown_price = true\n`,
      );
      const ended = await app.ask("kb_answer", { ...QUERY, model: "ollama_chat/other:1b" });
      if (profile === "restricted")
        expect(ended).toMatchObject({
          error: { code: "egress_denied", hint: expect.stringContaining('profile "restricted"') },
        });
      else expect(ended).not.toHaveProperty("error");
      expect(server.requests).toHaveLength(profile === "restricted" ? 0 : 1);
    },
  );
});
