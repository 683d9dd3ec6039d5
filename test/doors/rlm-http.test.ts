import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { messagesOf, openaiAnswer, sendJson, startModelServer } from "../model-server.ts";
import { ANN, BOB, openTokenDoor } from "./two-tokens.ts";

const MARKER = "marker-of-the-patient-5150";
const KEY = "sk-marker-of-the-key-5151";

const filesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);

const program = (code: string): string => `\`\`\`js\n${code}\n\`\`\``;

/** What the scripted model does is in the task: it answers, fails, or lets its program fail, always with the marker. */
const replyTo = (task: string): string | number => {
  if (task.includes("answer")) return program(`print(context); finish("the answer")`);
  if (task.includes("throw")) return program(`throw new Error(context)`);
  if (task.includes("sub")) return program(`await llm(context); finish("the answer")`);
  return 500;
};

test("FAIL-G1: over HTTP a context is as large as a request may be, and no larger", async () => {
  const server = await startModelServer((response) =>
    sendJson(response, openaiAnswer(program("finish(String(context.length))"))),
  );
  onTestFinished(() => server[Symbol.asyncDispose]());
  await using door = await openTokenDoor(
    `[mcp.llm]\nopenai_url = "${server.url}/v1"\nopenai_key_env = ""\n[mcp.rlm]\nroot_model = "openai/m"\n`,
  );
  const bodyOf = (context: string) => ({ session_id: "s", name: "rlm_query", args: { task: "t", context } });
  const room = 262_144 - JSON.stringify(bodyOf("")).length;
  const post = (size: number) => door.post("/tool", bodyOf("x".repeat(size)), ANN);
  for (const size of [65_535, 65_536, 65_537, room]) {
    const answered = await post(size);
    expect(answered.status).toBe(200);
    expect(await answered.json()).toMatchObject({ data: { answer: String(size) } });
  }
  expect((await post(room + 1)).status).toBe(413);
});

test("REQ-L6 REQ-D27 REQ-T6 FAIL-G7: over HTTP it needs the scope egress, and text, file and key are in no log, metric, audit record or trace", async () => {
  const server = await startModelServer((response, request) => {
    const [, first] = messagesOf(request);
    const reply = replyTo(first?.content.split("\n")[1] ?? "");
    // A provider's error that quotes everything that it was sent.
    if (typeof reply === "number")
      return sendJson(response, { error: { message: `${KEY} ${request.text}` } }, reply);
    return sendJson(response, openaiAnswer(reply));
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  await using door = await openTokenDoor(
    `[mcp.llm]
openai_url = "${server.url}/v1"
openai_key_env = "LLMC_TEST_MODEL_KEY"
[mcp.rlm]
root_model = "openai/m"
trace_enabled = true
trace_dir = "traces"
[mcp.logging]
level = "debug"
[mcp.observability]
enabled = true
metrics_enabled = true
`,
    { "patient.txt": `the patient is ${MARKER}\n` },
    { LLMC_TEST_MODEL_KEY: KEY },
  );
  await door.setBob("read,write,execute");
  const denied = await door.post(
    "/tool",
    { session_id: "s", name: "rlm_query", args: { task: "answer", path: "patient.txt" } },
    BOB,
  );
  expect(denied.status).toBe(403);
  expect(await denied.text()).toContain("egress");
  expect(server.connections()).toBe(0);

  const ask = (task: string, args: object) =>
    door.ask(ANN, "rlm_query", { task: `${task} ${MARKER}`, max_turns: 2, ...args });
  const byPath = { path: "patient.txt" };
  const byText = { context: `the patient is ${MARKER}` };
  expect(await ask("answer", byPath)).toMatchObject({
    data: { answer: "the answer" },
    meta: { trace_included: false },
  });
  expect(await ask("answer", byText)).toMatchObject({ data: { answer: "the answer" } });
  expect(await ask("throw", byText)).toMatchObject({ code: "FORBIDDEN" });
  expect(await ask("sub", byText)).toMatchObject({ code: "FORBIDDEN" });
  expect(await ask("fail", byPath)).toMatchObject({ code: "INTERNAL" });
  expect(JSON.stringify(await ask("fail", byPath))).not.toContain(MARKER);

  for (const { headers } of server.requests) expect(headers.authorization).toBe(`Bearer ${KEY}`);

  const audit = filesBelow(join(door.root, ".llmc/audit"));
  const records = audit.flatMap((path) => readFileSync(path, "utf8").trim().split("\n"));
  const analyses = records
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    .filter(({ kind }) => kind === "analysis");
  // Of every analysis: correlation id, tool, duration, bytes, model, cost, outcome.
  expect(analyses).toHaveLength(6);
  expect(analyses[0]).toMatchObject({
    tool: "rlm_query",
    correlation_id: expect.stringMatching(/\S/),
    asked_model: "openai/m",
    bytes_read: Buffer.byteLength(`the patient is ${MARKER}\n`),
    cost_usd: 0,
    calls: 1,
    turns: 1,
    duration_ms: expect.any(Number),
    outcome: "ok",
  });
  expect(analyses.map(({ outcome }) => outcome)).toEqual([
    "ok",
    "ok",
    "budget_exceeded",
    "budget_exceeded",
    "provider_error",
    "provider_error",
  ]);

  const metrics = await (await door.get("/metrics", ANN)).text();
  const everything: readonly (readonly [string, string])[] = [
    ["log", door.logs()],
    ["output", door.out()],
    ["metrics", metrics],
    ...filesBelow(door.root)
      .filter((path) => !path.endsWith("patient.txt"))
      .map((path) => [path, readFileSync(path, "latin1")] as const),
  ];
  expect(everything.filter(([name]) => name.includes("/traces/"))).toHaveLength(6);
  for (const [name, text] of everything)
    for (const secret of [MARKER, KEY]) expect(text.includes(secret), `${secret} in ${name}`).toBe(false);
});
