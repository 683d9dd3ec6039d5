import { setTimeout } from "node:timers/promises";
import { createContext, runInContext } from "node:vm";
import { expect, test } from "vitest";
import { cpuMs } from "../../test/cpu-ms.ts";
import { judgeAnswer } from "./answers.ts";
import { checkValue } from "./check-value.ts";
import { Context } from "./context.ts";
import type { AnalysisParts, AnalysisRequest } from "./contract.ts";
import { JAVASCRIPT_PRELUDE } from "./guest/javascript.ts";
import { offsetsOf } from "./offsets.ts";
import { rankPassages } from "./passages.ts";
import { answerCalls, type ChildRequest, type NodeState } from "./sub-calls.ts";
import { digest, type TracedNode, TraceRecorder } from "./trace.ts";
import { Tree } from "./tree.ts";

const MIB = 1024 * 1024;
const never = new AbortController().signal;

const nodeOf = (): TracedNode => ({
  id: "0",
  depth: 0,
  model: "m",
  task: { chars: 0, sha256: "" },
  contextBytes: 0,
  contextSha256: "",
  turns: [],
  calls: [],
  startMs: 0,
  endMs: 0,
});

const contextOf = (text: string): Promise<Context> => Context.of(text, {}, undefined);

/** A session as programs see it, without a model. */
const stateOf = async (
  text: string,
  grep: AnalysisParts["grep"] = async () => ({ hits: [], total: 0 }),
  calls = 10,
  generate: () => Promise<never> = () => Promise.reject(new Error("none")),
) => {
  const limits = {
    usd: 1,
    calls,
    parallel: 4,
    tokens: 1e9,
    maxOutputTokens: 1,
    maxDepth: 2,
    maxTurns: 1,
  };
  const request = { language: "javascript", limits } as unknown as AnalysisRequest;
  const model = { name: "m", worstCostUsd: async () => 0, generate };
  const trace = new TraceRecorder(() => 0, false);
  const parts = { grep, countTokens: () => 1 } as unknown as AnalysisParts;
  const tree = new Tree(request, parts, { root: model, sub: model }, never, trace);
  const context = await contextOf(text);
  const children: ChildRequest[] = [];
  const state: NodeState = {
    tree,
    context,
    traced: nodeOf(),
    offsets: await offsetsOf(context, "python"),
    signal: never,
    startChild: async (child) => children.push(child),
    finished: undefined,
    draft: undefined,
    calls: 0,
    children: 0,
  };
  const call = (name: string, args: object) => answerCalls(state)(name, JSON.stringify(args), never);
  return { state, call, children };
};

test("REQ-L3 FAIL-G4 an answer is checked in bounded time, whatever its schema", async () => {
  const many = Array.from({ length: 9999 }, (_, at) => at);
  const rows = Array.from({ length: 5 }, () => new Array<number>(9000).fill(9998));
  const byEnum = { items: { items: { enum: many } } };
  expect(cpuMs(() => expect(checkValue(rows, byEnum)).toBeUndefined())).toBeLessThan(2000);
  expect(checkValue([[-1]], byEnum)).toContain("value[0][0] is not one of");
  const required = many.map(String);
  const whole = Object.fromEntries(required.map((name) => [name, 1]));
  const byNames = { items: { required } };
  expect(checkValue([whole], byNames)).toBeUndefined();
  expect(checkValue(Array(100).fill(whole), byNames)).toContain("too much to be checked");
  const judged = await judgeAnswer(
    { value: Array(90).fill(rows[0]), evidence: [] },
    await contextOf("x"),
    byEnum,
  );
  expect(judged).toMatchObject({ problem: expect.stringContaining("characters") });
});

test("REQ-L3 FAIL-G4 every argument of a program is bounded before it is used", async () => {
  const { call, state, children } = await stateOf("a".repeat(262_000));
  const refused = async (name: string, args: object) =>
    expect(await call(name, args)).toMatchObject({ failure: { code: "invalid_args" } });
  await refused("rank", { query: "x ".repeat(20_000) });
  await refused("grep", { pattern: "x".repeat(20_001) });
  await refused("symbol", { name: "x".repeat(1001) });
  await refused("rlm", { task: "x".repeat(20_001) });
  await refused("rlm", { task: "x", schema: { enum: Array(9999).fill("0123456789") } });
  await refused("llmBatch", { prompts: Array(1001).fill("x") });
  await refused("finish", { value: "x", evidence: Array(51).fill({ start: 0, end: 1 }) });
  expect(state.finished).toBeUndefined();
  const almost = `${"a".repeat(1000)}b${"a".repeat(129_000)}`;
  const before = process.cpuUsage();
  for (let i = 0; i < 20; i++) await call("rlm", { task: "t", context: almost });
  expect(children).toHaveLength(20);
  // Processor time: a busy machine takes longer. Searching for each of them from every position would take minutes.
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(4000);
});

test("REQ-L3 a question of any number of terms is ranked, and others are served meanwhile", async () => {
  const context = await contextOf("zebra apple zebra apple\n".repeat(200_000));
  const query = `zebra ${Array.from({ length: 100_000 }, (_, at) => `${at.toString(36)}q`).join(" ")}`;
  let turns = 0;
  const counter = setInterval(() => turns++, 1);
  const found = await rankPassages(context, query, 3, never);
  clearInterval(counter);
  expect(found).toHaveLength(3);
  expect(turns).toBeGreaterThan(2);
});

test("REQ-L3 a context is read once, for all analyses of it, and others are served meanwhile", async () => {
  let turns = 0;
  const counter = setInterval(() => turns++, 1);
  const context = await contextOf("a line with a 😀 in it\n".repeat(2_000_000));
  const read = turns;
  const offsets = await offsetsOf(context, "python");
  clearInterval(counter);
  expect([read > 2, turns - read > 2]).toEqual([true, true]);
  expect(await offsetsOf(context, "python")).toBe(offsets);
  expect([context.lines, context.lineAt(50), context.spanOfLine(3)]).toEqual([
    2_000_001,
    3,
    { start: 46, end: 68 },
  ]);
  expect([context.bytes, context.sha256]).toEqual([50_000_000, digest(context.text)]);
  const ended = new AbortController();
  ended.abort(new Error("ended"));
  await expect(Context.of(context.text, {}, ended.signal)).rejects.toThrow("ended");
});

test("REQ-L3 a context of any size is ranked, in little memory beside it", async () => {
  const rest = `${"-".repeat(1399)}\n`.repeat(50_000);
  const needle = "the vault opens with the word sesame\n";
  const text = `${rest}${needle}${"the word\n".repeat(200_000)}`;
  expect(text.length).toBeGreaterThan(64 * MIB);
  const before = process.memoryUsage().arrayBuffers;
  const found = await rankPassages(await contextOf(text), "which word opens the vault?", 2, never);
  expect(found[0]?.text).toContain(needle);
  expect(found[0]?.line).toBe(50_000);
  expect(found).toHaveLength(2);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * MIB);
});

test("REQ-L3 a few searches of one session run at once, and the others wait", async () => {
  let [running, peak] = [0, 0];
  const { call } = await stateOf("text", async () => {
    peak = Math.max(peak, ++running);
    await setTimeout(2);
    running--;
    return { hits: [], total: 0 };
  });
  const answers = await Promise.all(Array.from({ length: 100 }, () => call("grep", { pattern: "x" })));
  expect(answers.every((one) => "value" in one)).toBe(true);
  expect(peak).toBe(4);
});

test("REQ-L3 no analysis is begun where no model call is left, and nothing is done for it", async () => {
  const { call, state, children } = await stateOf("a".repeat(1000), undefined, 0);
  let searches = 0;
  state.tree.inSearchSlot = async (work) => {
    searches++;
    return work();
  };
  for (const args of [{}, { context: "a" }, { start: 0, end: 9 }])
    expect(await call("rlm", { task: "t", ...args })).toMatchObject({
      failure: { code: "budget_exceeded" },
    });
  expect([children.length, searches]).toEqual([0, 0]);
});

test("REQ-L3 a part that a program cut out is looked for in a slot of the searches, piece by piece", async () => {
  const text = `export const first = 1;\n${"x".repeat(600_000)}const needle = (a: number): number => a;\n`;
  const { call, state, children } = await stateOf(text);
  Object.assign(state.context, { language: "typescript" });
  let searches = 0;
  const inSlot = state.tree.inSearchSlot.bind(state.tree);
  state.tree.inSearchSlot = (work, signal) => {
    searches++;
    return inSlot(work, signal);
  };
  const pieces: number[] = [];
  const { includes } = String.prototype;
  String.prototype.includes = function (...args) {
    pieces.push(this.length);
    return includes.apply(this, args);
  };
  try {
    await call("rlm", { task: "t", context: "const needle = (a: number)" });
    await call("rlm", { task: "t", context: "nothing of this stands there" });
  } finally {
    String.prototype.includes = includes;
  }
  expect(children.map(({ context }) => context.language === "typescript")).toEqual([true, false]);
  expect(searches).toBe(2);
  expect(Math.max(...pieces)).toBeLessThan(300_000);
});

test("REQ-L4 analyses are numbered in the order in which they were started, however long their texts are looked for", async () => {
  const { call, children } = await stateOf(`${"x".repeat(20_000_000)}end`);
  await Promise.all([
    call("rlm", { task: "searched", context: "it is nowhere" }),
    call("rlm", { task: "cut", start: 0, end: 9 }),
    call("rlm", { task: "whole" }),
  ]);
  expect(children.map(({ task }) => task)).toEqual(["whole", "cut", "searched"]);
  expect(children.map(({ id }) => id)).toEqual(["0.3", "0.2", "0.1"]);
});

test("REQ-L3 a text of one line is cut into passages by looking at each of them once", async () => {
  const text = "word needle ".repeat(100_000);
  let looked = 0;
  const { lastIndexOf } = String.prototype;
  String.prototype.lastIndexOf = function (this: string, wanted, from = this.length) {
    const found = lastIndexOf.call(this, wanted, from);
    looked += Math.min(from, this.length) - Math.max(0, found);
    return found;
  };
  try {
    expect(await rankPassages(await contextOf(text), "needle", 3, never)).toHaveLength(3);
  } finally {
    String.prototype.lastIndexOf = lastIndexOf;
  }
  expect(looked).toBeLessThan(2 * text.length);
});

test("REQ-L3 lineChunks looks at each part of a line once, and cuts where lines end", () => {
  const guest = createContext({ tools: {} });
  const chunksOf = (text: string, size: number): readonly string[] =>
    runInContext(`context = ${JSON.stringify(text)}; lineChunks(${size})`, guest);
  runInContext(
    `${JAVASCRIPT_PRELUDE}
     var looked = 0;
     const { lastIndexOf } = String.prototype;
     String.prototype.lastIndexOf = function (wanted, from = this.length) {
       const found = lastIndexOf.call(this, wanted, from);
       looked += Math.min(from, this.length) - Math.max(0, found);
       return found;
     };`,
    guest,
  );
  expect([...chunksOf("ab\ncd\nefghi\nj", 6)]).toEqual(["ab\ncd\n", "efghi\n", "j"]);
  expect([...chunksOf("abcdefgh\ni\n", 3)]).toEqual(["abc", "def", "gh\n", "i\n"]);
  expect([...chunksOf("", 3)]).toEqual([]);
  const text = "word needle ".repeat(100_000);
  runInContext("looked = 0", guest);
  expect(chunksOf(text, 1000)).toHaveLength(1200);
  expect(Number(runInContext("looked", guest))).toBeLessThan(2 * text.length);
});

test("REQ-L3 repeated prompts are recorded up to a bound", () => {
  const trace = new TraceRecorder(() => 0, false);
  const node = nodeOf();
  const call = { id: "0:1", model: "m", prompt: trace.text("x"), startMs: 0, endMs: 0 };
  for (let i = 0; i < 5000; i++) trace.addCall(node, { ...call, isRepeated: true });
  expect(node.calls).toHaveLength(2000);
  for (let i = 0; i < 50_000; i++) trace.addCall(node, call);
  expect(node.calls).toHaveLength(20_000);
});

test("REQ-L7 FAIL-G4 the texts of a trace are kept up to a bound, and digests of those beyond it", () => {
  const trace = new TraceRecorder(() => 0, true);
  const text = "x".repeat(3 * MIB);
  const kept = Array.from({ length: 10 }, () => trace.text(text));
  expect(kept.map((one) => one.text === text)).toEqual([...Array(5).fill(true), ...Array(5).fill(false)]);
  expect(new Set(kept.map(({ chars, sha256 }) => `${chars} ${sha256}`)).size).toBe(1);
  // A shorter one finds room.
  expect(trace.text("short").text).toBe("short");
  for (let i = 0; i < 30_000; i++) trace.addNode(nodeOf());
  expect(trace.nodes).toHaveLength(20_000);
});

test("REQ-L3 positions of Python are those of the text, wherever its wide characters are", async () => {
  const text = `${"a".repeat(1023)}😀${"b".repeat(3000)}😀😀c`;
  const { fromGuest, toGuest } = await offsetsOf(await contextOf(text), "python");
  const characters = [...text];
  for (const at of [0, 1022, 1023, 1024, 1025, 2048, characters.length - 1, characters.length]) {
    const unit = characters.slice(0, at).join("").length;
    expect(fromGuest({ start: at, end: at })).toEqual({ start: unit, end: unit });
    expect(toGuest({ start: unit, end: unit })).toEqual({ start: at, end: at });
  }
});

test("REQ-L4 FAIL-G4 no more prompts wait than calls are left, and repeated ones are bounded, too", async () => {
  const prompts = (of: string, count: number) => ({
    prompts: Array.from({ length: count }, (_, at) => `${of} ${at}`),
  });
  // A provider that hangs.
  const { call } = await stateOf("text", undefined, 10, () => new Promise<never>(() => {}));
  void call("llmBatch", prompts("first", 14));
  const beyond = await call("llm", { prompt: "one more" });
  expect(beyond).toMatchObject({ failure: { code: "budget_exceeded" } });
  // Those that are known already take no call.
  for (let i = 0; i < 355; i++) void call("llmBatch", prompts("first", 14));
  const repeated = await call("llmBatch", prompts("first", 100));
  expect(repeated).toMatchObject({ failure: { code: "busy" } });
});
