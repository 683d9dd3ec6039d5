import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openTestApp } from "../../test/app.ts";
import { js, openRlmStand, type RlmScript } from "../../test/rlm-stand.ts";

/** A session that scripted models once had; LLMC_TEST_RECORD=1 records it again, where prompts have changed on purpose. */
const TAPE = fileURLToPath(new URL("../../test/recorded-analysis.json", import.meta.url));

const MODELS = 'prices = ["openai/root=1/2", "openai/sub=1/2"]';
const QUERY = {
  task: "Which entries are red, and what do they say?",
  context: Array.from(
    { length: 3000 },
    (_, at) => `entry ${at}: ${at % 997 === 0 ? "red" : "blue"} – ${at * 7}`,
  ).join("\n"),
  budget_usd: 0.5,
  max_turns: 6,
} as const;

/** A turn without code, one that fails, one that is refused, then calls, one of them refused, a nested analysis, and evidence. */
const SCRIPT: RlmScript = {
  root: (turn, _shown, task) => {
    if (task === "how many?") return js("finish(String((await grep('red')).total))");
    const turns = [
      "I would look for the red ones.",
      js("print(missing)"),
      js("finish(7)"),
      js(
        "var { hits } = await grep('red'); var parts = await llmBatch([...hits.map(({ text }) => 'Read: ' + text), 'refuse this', 'Read: ' + hits[0].text]); print(parts)",
      ),
      js(
        "finish(parts.map((part) => part.error?.code ?? part).join('; ') + '; ' + (await rlm('how many?')), {evidence: [hits[1], 'entry 2991: red']})",
      ),
    ];
    return turns[turn - 1] ?? "";
  },
  sub: (prompt) => (prompt === "refuse this" ? 400 : prompt.replace("Read: ", "it says ")),
};

const record = async (): Promise<void> => {
  rmSync(TAPE, { force: true });
  const stand = await openRlmStand(SCRIPT, {
    llm: MODELS,
    rlm: `cassette = "record"\ncassette_file = "${TAPE}"`,
  });
  await stand.query(QUERY);
};

test("REQ-L8 REQ-L3: a session that was recorded once is replayed in every step, without a model", async () => {
  if (process.env["LLMC_TEST_RECORD"] !== undefined) await record();
  const app = await openTestApp({
    config: `[mcp]\nmode = "classic"\n[mcp.llm]\n${MODELS}\n[mcp.rlm]\nroot_model = "openai/root"\nsub_model = "openai/sub"\ncassette = "strict"\ncassette_file = "${TAPE}"`,
  });
  const result = await app.ask("rlm_query", QUERY);
  const again = "if prompts were changed on purpose, record it again with LLMC_TEST_RECORD=1";
  expect(result.kind === "ok" ? result.structured : result, again).toMatchObject({
    data: {
      answer:
        "it says entry 0: red – 0; it says entry 997: red – 6979; it says entry 1994: red – 13958; it says entry 2991: red – 20937; provider_error; it says entry 0: red – 0; 4",
      budget_summary: { calls: 11, failed_calls: 1, turns: 6 },
      evidence: [
        { line: 998, text: "entry 997: red – 6979" },
        { line: 2992, text: "entry 2991: red" },
      ],
    },
  });
});
