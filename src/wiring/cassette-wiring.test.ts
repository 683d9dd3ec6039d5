import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openTestApp, type TestApp } from "../../test/app.ts";
import { js, openRlmStand, type RlmStand } from "../../test/rlm-stand.ts";
import { EMPTY_CASSETTE, parseCassette } from "../llm/cassette.ts";

const answerOf = (result: Awaited<ReturnType<RlmStand["query"]>>): unknown =>
  result.kind === "ok" ? (result.structured as { data: { answer: string } }).data.answer : result;

const finishTask = { root: (_turn: number, _shown: string, task: string) => js(`finish('${task}')`) };

test("REQ-L8: analyses that are recorded at the same time keep all their answers", async () => {
  const stand = await openRlmStand(finishTask, { rlm: 'cassette = "record"\ncassette_file = "tape.json"' });
  const tasks = ["one", "two", "three", "four", "five"];
  const answers = await Promise.all(tasks.map((task) => stand.query({ task, context: "text" })));
  expect(answers.map(answerOf)).toEqual(tasks);
  const tape = JSON.parse(readFileSync(join(stand.root, "tape.json"), "utf8"));
  expect(tape.entries).toHaveLength(5);
  expect(new Set(tape.trajectories).size).toBe(5);
});

test("REQ-L8: each replayed analysis has the id of its recording, and answers the same in every byte", async () => {
  const recorder = await openRlmStand(finishTask, {
    rlm: 'cassette = "record"\ncassette_file = "tape.json"',
  });
  const tape = join(recorder.root, "tape.json");
  const player = await openRlmStand(finishTask, { rlm: `cassette = "replay"\ncassette_file = "${tape}"` });
  const ask = (stand: RlmStand, task: string) => stand.query({ task, context: "text" });
  const [first, second] = [await ask(recorder, "one"), await ask(recorder, "two")];
  // In another order.
  expect(await ask(player, "two")).toEqual(second);
  expect(await ask(player, "one")).toEqual(first);
  expect(player.server.requests).toHaveLength(0);
  expect(first).not.toEqual(second);
});

test("REQ-L8: an id that could name another file makes it no cassette; one without ids is one", async () => {
  const { sessions: _, ...older } = EMPTY_CASSETTE;
  expect(parseCassette(JSON.stringify(older)).sessions).toEqual([]);
  const hostile = { ...EMPTY_CASSETTE, sessions: [{ key: "k", id: "../../x" }] };
  expect(() => parseCassette(JSON.stringify(hostile))).toThrow("not one that llmc recorded");
});

test("REQ-L8: entries that nobody recorded make it no cassette; those of answers and failures do", () => {
  const generation = { text: "t", finish: "stop", usage: {} };
  const failure = { code: "timeout", message: "m", details: {}, retryable: true, mayBeBilled: true };
  const parse = (entry: unknown) => parseCassette(JSON.stringify({ ...EMPTY_CASSETTE, entries: [entry] }));
  for (const outcome of [{ generation }, { failure }])
    expect(parse({ key: "k", outcome }).entries).toEqual([{ key: "k", outcome }]);
  const others = [
    null,
    { key: 1, outcome: { generation } },
    { key: "k" },
    { key: "k", outcome: {} },
    { key: "k", outcome: { generation: { ...generation, text: 1 } } },
    { key: "k", outcome: { generation: { ...generation, usage: null } } },
    { key: "k", outcome: { failure: { ...failure, code: "constructor" } } },
    { key: "k", outcome: { failure: { ...failure, hint: 1 } } },
  ];
  for (const one of others) expect(() => parse(one)).toThrow("not one that llmc recorded");
});

test("REQ-L8: an answer that is paid for is given, though neither trace nor cassette can be written", async () => {
  const stand = await openRlmStand(finishTask, {
    files: { "a-file": "" },
    rlm: 'cassette = "record"\ncassette_file = "missing/tape.json"\ntrace_enabled = true\ntrace_dir = "a-file/traces"',
  });
  const result = await stand.query({ task: "paid", context: "text" });
  expect(answerOf(result)).toBe("paid");
  const logs = await stand.logs();
  expect(logs).toContain("the trace could not be written");
  expect(logs).toContain("the cassette could not be written");
});

test("REQ-L8: a file that is no cassette is refused before a model is asked", async () => {
  const stand = await openRlmStand(finishTask, {
    files: { "tape.json": "[]" },
    rlm: 'cassette = "record"\ncassette_file = "tape.json"',
  });
  expect(await stand.errorCode("rlm_query", { task: "t", context: "text" })).toBe("internal_error");
  expect(stand.server.requests).toHaveLength(0);
  expect(readFileSync(join(stand.root, "tape.json"), "utf8")).toBe("[]");
});

test("REQ-L8: a cassette that does not exist is said to be that, with the way to make one", async () => {
  const stand = await openRlmStand(finishTask, {
    rlm: 'cassette = "replay"\ncassette_file = "none.json"',
  });
  const refused = await stand.query({ task: "t", context: "text" });
  if (refused.kind !== "error") throw new Error("it was replayed");
  const { code, message, hint, cause } = refused.error;
  // Anything else that is no refusal is logged as an error, above the message.
  expect(code).toBe("file_not_found");
  expect(message).toBe('There is no cassette "none.json".');
  expect(hint).toContain("llmc rlm query --record");
  // The command line shows what has a cause of the system as a failure of that, with another way out.
  expect(cause).toBeUndefined();
});

test("REQ-L8: the client's own model is recorded, and replayed without a client", async () => {
  const tape = (await openTestApp()).root;
  const open = (cassette: string): Promise<TestApp> =>
    openTestApp({
      config: `[mcp]\nmode = "classic"\n[mcp.llm]\nprices = ["sampling/client=1/1"]\n[mcp.rlm]\nroot_model = "sampling/client"\nprofile = "unrestricted"\ncassette = "${cassette}"\ncassette_file = "${tape}/tape.json"`,
    });
  const args = { task: "what?", context: "a short text" };
  const recorder = await open("record");
  const asked = await recorder.ask("rlm_query", args, { canAsk: () => true });
  if (asked.kind !== "questions") throw new Error("the client was not asked");
  const content = { type: "text", text: js("finish('from the client')") };
  const answers = { [Object.keys(asked.questions)[0] ?? ""]: { role: "assistant", content } };
  const result = await recorder.ask("rlm_query", args, { canAsk: () => true, answers, state: asked.state });
  expect(answerOf(result)).toBe("from the client");
  expect(existsSync(join(tape, "tape.json"))).toBe(true);
  expect(answerOf(await (await open("strict")).ask("rlm_query", args))).toBe("from the client");
});
